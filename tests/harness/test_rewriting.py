"""pytest imports the packages of this distribution as they are: rewriting their assertions takes longer than a test."""

import sys

import pytest


@pytest.mark.slow
def test_f16_only_the_plugin_is_rewritten(pytester):
    pytester.makepyfile(
        """
        import sys

        def test_it(fakekube, pytestconfig):
            hook = pytestconfig.pluginmanager.rewrite_hook
            rewritten = [
                name
                for name, module in sys.modules.items()
                if name.partition(".")[0] in ("fakekube", "controllerlib")
                and type(getattr(module, "__loader__", None)) is type(hook)
            ]
            imported_by_pytest = {"fakekube", "fakekube.pytest_plugin", "fakekube.clustersettings"}
            assert set(rewritten) <= {*imported_by_pytest, "fakekube.simulation", "fakekube.simulation.stash"}
            assert "fakekube" not in hook._must_rewrite
        """
    )
    run = pytester.run(sys.executable, "-m", "pytest", "-q", "-pno:cacheprovider")
    run.assert_outcomes(passed=1)
