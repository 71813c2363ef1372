from __future__ import annotations

import subprocess
import sys

import pytest

import watersmeet as wm
from watersmeet import errors


def test_each_error_is_a_watersmeet_error_and_public() -> None:
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), errors.WatersmeetError)
        assert getattr(wm, name) is getattr(errors, name)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'joint'"):
        _ = wm.joint  # type: ignore[attr-defined]


def test_every_public_name_resolves_and_is_listed() -> None:
    assert set(wm.__all__) <= set(dir(wm))
    for name in wm.__all__:
        assert getattr(wm, name) is not None


def test_join_stays_the_function_after_its_room_is_imported() -> None:
    from watersmeet.join import WindowJoin, join

    assert callable(wm.join)
    assert wm.join is join
    assert wm.WindowJoin is WindowJoin


def test_pure_rooms_do_not_load_the_compiled_core() -> None:
    code = "import sys, watersmeet, watersmeet.vocabulary; sys.exit('watersmeet._core' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
