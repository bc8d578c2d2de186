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
    "gfx1250": 0x549,
    "gfx12-5-generic": 1 << 24 | 0x55B,
    "gfx9-4-generic": 1 << 24 | 0x55F,
}
PROCESSORS = MACHINES | LATER
COVERED = {
    "gfx9-generic": ["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"],
    "gfx9-4-generic": ["gfx940", "gfx941", "gfx942", "gfx950"],
    "gfx10-1-generic": ["gfx1010", "gfx1011", "gfx1012", "gfx1013"],
    "gfx10-3-generic": ["gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"],
    "gfx11-generic": ["gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"],
    "gfx12-generic": ["gfx1200", "gfx1201"],
    "gfx12-5-generic": ["gfx1250"],
}


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
        parsed = _C.read_code_object(CodeObject(flags=flags, abi_version=abi).build())
        assert (parsed["target"], parsed["version"]) == (processor, abi + 2)
        assert parsed["generic_version"] == (1 if generic else 0)
    for feature, on, off in (("sramecc", 0xC00, 0x800), ("xnack", 0x300, 0x200)):
        for bits, sign in ((on, "+"), (off, "-")):
            fixed = _C.read_code_object(CodeObject(flags=flags & ~on | bits, abi_version=4).build())["target"]
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
    assert _C.read_code_object(CodeObject(flags=flags, abi_version=1).build())["target"] == target


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
    assert _C.read_code_object(data, COVERED[generic][0])["target"] == generic
    unversioned = CodeObject(flags=PROCESSORS[generic] & 0xFFFFFF, abi_version=4).build()
    with pytest.raises(ValueError, match=f"code object built for {generic} does not run on {COVERED[generic][0]}"):
        _C.read_code_object(unversioned, COVERED[generic][0])
