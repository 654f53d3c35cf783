"""`scrapy neardup doctor` says whether detection is on, and judges a page without keeping it."""

import pytest

from tests.helpers import forked

ADDONS = 'ADDONS = {"scrapy_neardup.Addon": 700}\n'


@pytest.fixture
def doctor(tmp_path):
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = some\n")

    def run(settings, *arguments):
        (tmp_path / "some.py").write_text(settings)
        ended = forked.scrapy("neardup", *arguments, cwd=tmp_path)
        assert "Traceback" not in ended.stderr
        return ended.returncode, ended.stdout.splitlines()

    return run


@pytest.mark.parametrize(
    ("settings", "code", "said"),
    [
        (ADDONS, 0, "ok add-on     on"),
        (ADDONS + "ADDONS = {}\n", 1, "!! add-on     off: ADDONS in line 2 of the settings overrides line 1"),
        ("", 1, "!! add-on     off: put ADDONS"),
        (ADDONS + "NEARDUP_POLCY = 'tag'\n", 1, "!! settings   There is no setting NEARDUP_POLCY: did"),
        (ADDONS + "NEARDUP_DIR = '/dev/null/x'\n", 1, "!! index      cannot be made in /dev/null: name"),
        (ADDONS + "NEARDUP_ENABLED = False\n", 1, "!! settings   NEARDUP_ENABLED switches all off"),
    ],
)
def test_what_is_wrong(doctor, settings, code, said):
    ended, lines = doctor(settings, "doctor")
    assert ended == code
    assert [line for line in lines if line.startswith(said)], lines
    assert len(lines) <= 10


def test_a_page_is_judged_and_not_kept(doctor, site, tmp_path):
    settings = f"{ADDONS}NEARDUP_DIR = {str(tmp_path / 'index')!r}\nNEARDUP_EXTRACTOR = 'plain'\n"
    for _ in range(2):
        code, lines = doctor(settings, "doctor", "--url", site.article("/a"))
        assert code == 0
        assert [" ".join(line.split()[:2]) for line in lines[-3:]] == ["ok download", "ok main", "ok verdict"]
        assert lines[-1].split()[2] == "unique"
    site.pages["/b"] = 200, {"Content-Type": "text/html; \x1b[31m"}, site.pages["/a"]
    assert "\x1b" not in str.join("", doctor(settings, "doctor", "--url", f"{site.url}/b")[1])
    code, lines = doctor(settings + "NEARDUP_SCHEME = 'minhash'\n", "doctor")
    assert (code, [line[:26] for line in lines if line[:2] == "!!"]) == (1, ["!! index      The index in"])
    for url in (f"{site.url}/none", "http://127.0.0.1:9/", "no-url"):
        code, lines = doctor(settings + "RETRY_ENABLED = False\n", "doctor", "--url", url)
        assert (code, lines[-1][:22]) == (1, "!! download   failed: ")
