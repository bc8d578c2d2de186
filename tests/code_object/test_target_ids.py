"""Target ids: reading, writing, and which code runs where."""

from __future__ import annotations

import re

import pytest
from code_object_support import CodeObject, golden, relaxed
from hypothesis import given
from hypothesis import strategies as st

from wave_runtime import _C

MACHINES = golden("machines.json")  # e_flags that LLVM writes when no feature is fixed
XNACK, SRAMECC = 0x100, 0x400  # the value "any" of the two fields in code objects v4 to v6
LATER = {
    "gfx950": 0x54F,
    "gfx1153": 0x58,
    "gfx1154": 0x57,
    "gfx1170": 0x5D,
    "gfx1250": 0x549,
    "gfx1310": 0x50,
    "gfx11-7-generic": 1 << 24 | 0x62,
    "gfx13-generic": 1 << 24 | 0x63,
    "gfx12-5-generic": 1 << 24 | 0x55B,
    "gfx9-4-generic": 1 << 24 | 0x55F,
}
PROCESSORS = MACHINES | LATER
COVERED = {
    "gfx9-generic": ["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"],
    "gfx9-4-generic": ["gfx940", "gfx941", "gfx942", "gfx950"],
    "gfx10-1-generic": ["gfx1010", "gfx1011", "gfx1012", "gfx1013"],
    "gfx10-3-generic": ["gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"],
    "gfx11-generic": [f"gfx{number}" for number in (1100, 1101, 1102, 1103, 1150, 1151, 1152, 1153, 1154)],
    "gfx11-7-generic": ["gfx1170"],
    "gfx12-generic": ["gfx1200", "gfx1201"],
    "gfx12-5-generic": ["gfx1250"],
    "gfx13-generic": ["gfx1310"],
}

# As LLVM 24 writes them (Triple::getArchName), by the processors that they stand for.
SUBARCHES = {
    "gfx600": "6.00",
    "gfx705": "7.05",
    "gfx810": "8.10",
    "gfx906": "9.06",
    "gfx908": "9.08",
    "gfx90a": "9.0a",
    "gfx90c": "9.0c",
    "gfx942": "9.42",
    "gfx950": "9.50",
    "gfx1013": "10.13",
    "gfx1036": "10.36",
    "gfx1100": "11.00",
    "gfx1154": "11.54",
    "gfx1170": "11.70",
    "gfx1201": "12.01",
    "gfx1250": "12.50",
    "gfx1310": "13.10",
    "gfx9-generic": "9",
    "gfx9-4-generic": "9.4",
    "gfx10-1-generic": "10.1",
    "gfx10-3-generic": "10.3",
    "gfx11-generic": "11",
    "gfx11-7-generic": "11.7",
    "gfx12-generic": "12",
    "gfx12-5-generic": "12.5",
    "gfx13-generic": "13",
}
ENVIRONMENTS = st.sampled_from(["", "unknown", "llvm", "opencl"])


def features_of(processor: str) -> list[str]:
    flags = PROCESSORS[processor]
    return [name for name, bit in (("sramecc", SRAMECC), ("xnack", XNACK)) if flags & bit]


@st.composite
def target_ids(draw: st.DrawFn, processors: list[str] | None = None) -> str:
    processor = draw(st.sampled_from(processors or sorted(PROCESSORS)))
    settings = [(feature, draw(st.sampled_from(["", "+", "-"]))) for feature in features_of(processor)]
    return processor + "".join(f":{feature}{sign}" for feature, sign in settings if sign)


@relaxed
@given(target_ids())
def test_a_normal_id_stays_as_it_is(target: str) -> None:
    assert _C.normal_target(target) == target
    assert _C.normal_target(f"amdgcn-amd-amdhsa--{target}") == target
    assert _C.normal_target(f"amdgcn-amd-amdhsa-unknown-{target}") == target
    assert _C.normal_target(f"amdgcn--amdhsa-amdgiz-{target}") == target  # which XLA writes, without a vendor


@relaxed
@given(target_ids(sorted(SUBARCHES)), ENVIRONMENTS)
def test_triples_that_name_the_processor(target: str, environment: str) -> None:
    """Their architecture is that of the processor or of its family, and may stand for it. LLVM's tools write it so from
    version 24 on; llvm-objdump writes "amdgpu" alone."""
    processor, *features = target.split(":")
    family = next((generic for generic, members in COVERED.items() if processor in members), processor)
    for subarch in ("", SUBARCHES[processor], SUBARCHES[family]):
        assert _C.normal_target(f"amdgpu{subarch}-amd-amdhsa-{environment}-{target}") == target
    alone = "".join(f":{feature}" for feature in features)
    assert _C.normal_target(f"amdgpu{SUBARCHES[processor]}-amd-amdhsa-{environment}-{alone}") == target


@relaxed
@given(st.sampled_from(sorted(SUBARCHES)), st.sampled_from(sorted(SUBARCHES)), ENVIRONMENTS)
def test_triples_that_contradict_the_processor(named: str, other: str, environment: str) -> None:
    triple = f"amdgpu{SUBARCHES[other]}-amd-amdhsa-{environment}-{named}"
    if named == other or named in COVERED.get(other, []) or other in COVERED.get(named, []):
        assert _C.normal_target(triple) == named
    else:
        with pytest.raises(ValueError, match=f"{named} is not a processor of amdgpu{re.escape(SUBARCHES[other])}$"):
            _C.normal_target(triple)


@relaxed
@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(
            st.sampled_from(
                [
                    *("amdgcn", "amdgpu", "9.42", "9", "-", "--", "-amd-amdhsa-", "unknown", "gfx942"),
                    *("gfx9-4-generic", "gfx", ":", "xnack+", "sramecc-", "sm_90"),
                ]
            ),
            max_size=12,
        ).map("".join),
    )
)
def test_any_text_is_a_target_or_a_value_error(text: str) -> None:
    """What is read stays what it is when it is read again."""
    try:
        normal = _C.normal_target(text)
    except ValueError as error:
        assert str(error).startswith("target id ")  # noqa: PT017  most texts are none
    else:
        assert _C.normal_target(normal) == normal


def test_features_in_another_order() -> None:
    assert _C.normal_target("gfx90a:xnack-:sramecc+") == "gfx90a:sramecc+:xnack-"


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("", 'unknown processor ""'),
        ("gfx", 'unknown processor "gfx"'),
        ("gfx9999", 'unknown processor "gfx9999"'),
        ("gfx942 ", 'unknown processor "gfx942 "'),
        ("gfx942:", '"" is not one of'),
        ("gfx942:xnack", '"xnack" is not one of sramecc+, sramecc-, xnack+, xnack-'),
        ("gfx942:wavefrontsize64+", "is not one of"),
        ("gfx942:xnack+:", '"" is not one of'),
        ("gfx942:xnack+:xnack+", "xnack is given twice"),
        ("gfx1100:xnack+", "gfx1100 has no feature xnack"),
        ("gfx900:sramecc-", "gfx900 has no feature sramecc"),
        ("sm_90:xnack+", 'unknown processor "sm_90"'),
        ("amdgcn-amd-amdpal--gfx942", "unknown processor"),
        ("amdgcn-amd-amdhsa--", 'unknown processor ""'),
        ("amdgpu-amd-amdhsa--", 'unknown processor ""'),
        ("amdgpu99.99-amd-amdhsa--", "unknown processor amdgpu99.99"),
        ("amdgpufoo-amd-amdhsa--gfx803", "gfx803 is not a processor of amdgpufoo"),
        ("amdgpu9-amd-amdhsa--gfx90a", "gfx90a is not a processor of amdgpu9"),
        ("amdgpu9.42-amd-amdhsa-unknown-gfx9999", 'unknown processor "gfx9999"'),
        ("amdgpu9.42-amd-amdpal--gfx942", "unknown processor"),
        ("amdgcn9.42-amd-amdhsa--gfx942", "unknown processor"),
        ("amdgpu9.42-amd-amdhsa", "unknown processor"),
        ("x-amdgpu9.42-amd-amdhsa--gfx942", "unknown processor"),
        ("amdgpu9.42-amd-amdhsa-unknown-gfx942 ", "unknown processor"),
        ("amdgpu9.00-amd-amdhsa--gfx900:sramecc+", "gfx900 has no feature sramecc"),
    ],
)
def test_what_is_no_target_id(target: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f'^target id "{re.escape(target)}": .*{re.escape(reason)}'):
        _C.normal_target(target)


def test_nvidia_targets() -> None:
    assert _C.normal_target("sm_90a") == "sm_90a"
    assert _C.target_runs_on("sm_90", "sm_90")
    assert not _C.target_runs_on("gfx942", "sm_90")


@pytest.mark.parametrize("processor", sorted(PROCESSORS))
def test_flags_of_every_processor(processor: str) -> None:
    """Machine number and features as LLVM writes them, through a whole file of each code object version."""
    flags = PROCESSORS[processor]
    generic = processor.endswith("-generic")
    for abi in (4,) if generic else (2, 3, 4):
        parsed = _C.CodeObject(CodeObject(flags=flags, abi_version=abi).build()).describe()
        assert (parsed["target"], parsed["version"]) == (processor, abi + 2)
        assert parsed["generic_version"] == (1 if generic else 0)
    for feature, on, off in (("sramecc", 0xC00, 0x800), ("xnack", 0x300, 0x200)):
        for bits, sign in ((on, "+"), (off, "-")):
            fixed = _C.CodeObject(CodeObject(flags=flags & ~on | bits, abi_version=4).build()).describe()["target"]
            has = feature in features_of(processor)  # what a file says of a feature that there is not is ignored
            assert fixed == (f"{processor}:{feature}{sign}" if has else processor)


@pytest.mark.parametrize(
    ("flags", "target"),
    [
        (0x2F, "gfx906:sramecc-:xnack-"),
        (0x12F, "gfx906:sramecc-:xnack+"),
        (0x230, "gfx908:sramecc+:xnack-"),
        (0x36, "gfx1030"),
    ],
)
def test_flags_of_version_3(flags: int, target: str) -> None:
    assert _C.CodeObject(CodeObject(flags=flags, abi_version=1).build()).describe()["target"] == target


@relaxed
@given(target_ids())
def test_code_runs_where_it_was_built_for(target: str) -> None:
    assert _C.target_runs_on(target, target)


@relaxed
@given(target_ids(), target_ids())
def test_what_runs_where(code: str, device: str) -> None:
    (code_processor, *code_features), (device_processor, *device_features) = code.split(":"), device.split(":")
    same = code_processor == device_processor or device_processor in COVERED.get(code_processor, [])
    opposite = {"+": "-", "-": "+"}
    conflict = any(feature[:-1] + opposite[feature[-1]] in device_features for feature in code_features)
    assert _C.target_runs_on(code, device) == (same and not conflict)


@pytest.mark.parametrize("generic", sorted(COVERED))
def test_generic_targets(generic: str) -> None:
    assert [name for name in sorted(PROCESSORS) if name != generic and _C.target_runs_on(generic, name)] == sorted(
        COVERED[generic]
    )
    data = CodeObject(flags=PROCESSORS[generic], abi_version=4).build()
    assert _C.CodeObject(data, COVERED[generic][0]).describe()["target"] == generic
    unversioned = CodeObject(flags=PROCESSORS[generic] & 0xFFFFFF, abi_version=4).build()
    with pytest.raises(ValueError, match=f"code object built for {generic} does not run on {COVERED[generic][0]}"):
        _C.CodeObject(unversioned, COVERED[generic][0]).describe()
