from eras.cli.main import run

run()
