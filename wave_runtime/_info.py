"""What a file with GPU code says of its kernels, without a GPU: behind ``python -m wave_runtime info``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wave_runtime._file import AMD, Image, Source, open_images


def describe(source: Source, target: str | None = None) -> dict[str, Any]:
    """Describes a code object, a cubin, PTX, or a container of them: an offload bundle, a fat binary, a host object.

    Args:
        source: a file's path, or its contents.
        target: which entry of a container to take, as a target id ("gfx942", "gfx90a:sramecc+:xnack-", "sm_90"); by
            default all.

    Returns:
        A dictionary that ``json.dumps`` takes: ``target`` and ``version`` (of the first image), ``targets`` (of all),
        ``images`` (``format``, ``target``, ``version``, ``sha256`` and ``size`` of each; a library has one for each
        translation unit and target) and ``kernels``, one dictionary each; its ``image`` counts from 0. Sizes are in
        bytes, blocks in work-items; None stands for what the file does not state. A kernel for AMD has other keys than
        one for NVIDIA, each those of its vendor.

    Raises:
        ValueError: the file is malformed, is of another kind, or has no code for the target.
        OSError: the file cannot be read.
    """
    return describe_images(open_images(source, target))


def describe_images(images: Sequence[Image]) -> dict[str, Any]:
    """The same of code objects that are read already."""
    return {
        "target": images[0].code_object.target,
        "targets": list(dict.fromkeys(image.code_object.target for image in images)),
        "version": _version(images[0].parsed),
        "images": [
            {
                "format": image.code_object.format,
                "target": image.code_object.target,
                "version": _version(image.parsed),
                "sha256": image.parsed["sha256"],
                "size": len(image.data),
            }
            for image in images
        ],
        "kernels": [
            _describe_kernel(i, kernel) if image.is_amd else _describe_nvidia(i, image.parsed, kernel)
            for i, image in enumerate(images)
            for kernel in image.parsed["kernels"]
        ],
    }


def _version(parsed: dict[str, Any]) -> int | str:
    """The version: a number for AMD code objects and for the ABI of cubins, a text such as "8.5" for PTX."""
    version: int = parsed["version"]
    return f"{version // 10}.{version % 10}" if parsed["format"] == "PTX" else version


def _describe_nvidia(index: int, parsed: dict[str, Any], kernel: dict[str, Any]) -> dict[str, Any]:
    """A kernel for NVIDIA. What only compiling PTX settles is None for PTX: registers, sizes of code and memory."""
    is_compiled = parsed["format"] != "PTX"
    return {
        "name": kernel["name"],
        "image": index,
        "signature": kernel["signature"],
        "block": {"required": kernel["reqd_workgroup_size"], "max_size": kernel["max_flat_workgroup_size"]},
        "cluster": kernel["cluster_size"],
        "registers": kernel["vgpr_count"] if is_compiled else None,
        "shared_memory": kernel["group_segment_fixed_size"] if is_compiled else None,
        "local_memory": kernel["private_segment_fixed_size"] if is_compiled else None,
        "code_size": kernel["code_size"] if is_compiled else None,
        "parameters": {
            "size": kernel["kernarg_segment_size"],
            "arguments": _describe_arguments(kernel["arguments"]),
        },
    }


def _describe_kernel(index: int, kernel: dict[str, Any]) -> dict[str, Any]:
    required = kernel["reqd_workgroup_size"]
    return {
        "name": kernel["name"],
        "symbol": kernel["symbol"],
        "image": index,
        "signature": kernel["signature"],
        "block": {"required": required, "max_size": kernel["max_flat_workgroup_size"] or None},
        "wavefront_size": kernel["wavefront_size"] or None,
        "registers": {
            "sgprs": kernel["sgpr_count"],
            "vgprs": kernel["vgpr_count"],
            "agprs": kernel["agpr_count"],
            "allocated_sgprs": kernel["allocated_sgprs"],
            "allocated_vgprs": kernel["granted_vgprs"],
        },
        "spills": {"sgprs": kernel["sgpr_spill_count"], "vgprs": kernel["vgpr_spill_count"]},
        "shared_memory": kernel["group_segment_fixed_size"],
        "scratch_size": kernel["private_segment_fixed_size"],
        "uses_dynamic_stack": kernel["uses_dynamic_stack"],
        "code_size": kernel["code_size"],
        "kernarg": {
            "size": kernel["kernarg_segment_size"],
            "align": kernel["kernarg_segment_align"] or None,
            "preloaded_dwords": kernel["descriptor"]["kernarg_preload_length"],
            "arguments": _describe_arguments(kernel["arguments"]),
        },
        "occupancy": _describe_occupancy(kernel),
    }


def _describe_arguments(arguments: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
    if arguments is None:
        return None
    return [
        {
            "name": argument["name"] or None,
            "type": argument["type_name"] or None,
            "offset": argument["offset"],
            "size": argument["size"],
            "kind": argument["kind"],
            "hidden": argument["is_hidden"],
            "access": argument["actual_access"] or argument["access"],
        }
        for argument in arguments
    ]


def _describe_occupancy(kernel: dict[str, Any]) -> dict[str, Any]:
    """The occupancy for the block that the kernel requires, else for the largest; or why it is unknown."""
    unit = "workgroup processor" if kernel["descriptor"]["wgp_mode"] else "compute unit"
    return {"unit": unit, **kernel["occupancy"]}


def render(description: dict[str, Any]) -> str:
    """The dictionary of :func:`describe` as text for a terminal, without a line break at its end."""
    images, kernels = description["images"], description["kernels"]
    kinds = [_render_image(image) for image in images]
    is_one_kind = len(set(kinds)) == 1
    sizes = [f"{_count(image['size'], 'byte')}, sha256 {image['sha256']}" for image in images]
    if is_one_kind:
        lines = [
            kinds[0] + (f", {len(images)} of them for as many translation units" if len(images) > 1 else ""),
            *sizes,
        ]
    else:
        lines = [f"{kind}: {size}" for kind, size in zip(kinds, sizes, strict=True)]
    lines.append(_count(len(kernels), "kernel"))
    for kernel in kernels:
        title, *rows = _render_kernel(kernel) if "kernarg" in kernel else _render_nvidia(kernel)
        lines += ["", title if is_one_kind else f"{title} ({kinds[kernel['image']]})", *rows]
    return "\n".join(lines)


def _render_image(image: dict[str, Any]) -> str:
    versions = {AMD: "code object v{}", "PTX": "PTX {}", "cubin": "cubin"}
    return f"{image['target']}, {versions[image['format']].format(image['version'])}"


def _render_nvidia(kernel: dict[str, Any]) -> list[str]:
    block, parameters = kernel["block"], kernel["parameters"]
    required = " x ".join(map(str, block["required"] or ()))
    rows = [
        ("signature", kernel["signature"] if kernel["signature"] is not None else "not stated"),
        ("block", f"{required} threads, required" if required else f"up to {_count(block['max_size'], 'thread')}"),
    ]
    if kernel["cluster"]:
        rows.append(("cluster", " x ".join(map(str, kernel["cluster"])) + " blocks"))
    if kernel["registers"] is not None:
        rows += [
            ("registers", f"{kernel['registers']} a thread"),
            ("shared", _count(kernel["shared_memory"], "byte")),
            ("local", _count(kernel["local_memory"], "byte") + " a thread"),
            ("code", _count(kernel["code_size"], "byte")),
        ]
    rows.append(("parameters", _count(parameters["size"], "byte")))
    lines = [f"kernel {kernel['name']}", *(f"  {title:<10} {value}" for title, value in rows)]
    return lines + _render_arguments(parameters["arguments"])


def _render_kernel(kernel: dict[str, Any]) -> list[str]:
    rows = [
        ("signature", kernel["signature"] if kernel["signature"] is not None else "not stated"),
        ("block", _render_block(kernel["block"])),
        ("wavefront", _count(kernel["wavefront_size"], "work-item")),
        ("registers", _render_registers(kernel["registers"])),
        ("spills", _render_spills(kernel["spills"])),
        ("LDS", _count(kernel["shared_memory"], "byte")),
        (
            "scratch",
            _count(kernel["scratch_size"], "byte") + " a work-item" + _render_stack(kernel["uses_dynamic_stack"]),
        ),
        ("code", _count(kernel["code_size"], "byte")),
        ("occupancy", _render_occupancy(kernel["occupancy"])),
        ("kernarg", _render_kernarg(kernel["kernarg"])),
    ]
    lines = [f"kernel {kernel['name']}", *(f"  {title:<10} {value}" for title, value in rows)]
    return lines + _render_arguments(kernel["kernarg"]["arguments"])


def _count(number: int | None, unit: str) -> str:
    if number is None:
        return "not stated"
    return f"{number} {unit}" + ("" if number == 1 else "s")


def _render_block(block: dict[str, Any]) -> str:
    if block["required"]:
        return " x ".join(map(str, block["required"])) + " work-items, required"
    return "not stated" if block["max_size"] is None else f"up to {_count(block['max_size'], 'work-item')}"


def _render_registers(registers: dict[str, Any]) -> str:
    used = [_count(registers["sgprs"], "SGPR"), _count(registers["vgprs"], "VGPR")]
    if registers["agprs"] is not None:
        used.append(_count(registers["agprs"], "AGPR"))
    return f"{', '.join(used)}; allocated: {registers['allocated_sgprs']} SGPRs, {registers['allocated_vgprs']} VGPRs"


def _render_spills(spills: dict[str, Any]) -> str:
    if spills["sgprs"] is None and spills["vgprs"] is None:
        return "not stated"
    if not spills["sgprs"] and not spills["vgprs"]:
        return "none"
    return f"{_count(spills['sgprs'], 'SGPR')}, {_count(spills['vgprs'], 'VGPR')}"


def _render_stack(is_dynamic: bool) -> str:
    return ", more for a dynamic stack" if is_dynamic else ""


def _render_occupancy(occupancy: dict[str, Any]) -> str:
    if "unknown" in occupancy:
        return f"unknown: {occupancy['unknown']}"
    waves, most = occupancy["waves_per_simd"], occupancy["max_waves_per_simd"]
    workgroups = _count(occupancy["workgroups_per_unit"], "workgroup")
    return (
        f"{waves} of {most} waves a SIMD, limited by {occupancy['limited_by']} "
        f"({workgroups} of {_count(occupancy['workgroup_size'], 'work-item')} a {occupancy['unit']})"
    )


def _render_kernarg(kernarg: dict[str, Any]) -> str:
    text = _count(kernarg["size"], "byte")
    if kernarg["preloaded_dwords"]:
        text += f", the first {_count(kernarg['preloaded_dwords'], 'dword')} preloaded"
    return text if kernarg["arguments"] is not None else f"{text}; the arguments are not stated"


def _render_arguments(arguments: list[dict[str, Any]] | None) -> list[str]:
    """The arguments as a table, in the order of their offsets, with the hidden ones that the runtime fills."""
    if not arguments:
        return []
    table = [("offset", "size", "kind", "access", "type", "name")]
    for a in arguments:
        table.append(
            (str(a["offset"]), str(a["size"]), a["kind"], a["access"] or "-", a["type"] or "-", a["name"] or "-")
        )
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    return [
        "    "
        + "  ".join(
            cell.rjust(width) if column < 2 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
