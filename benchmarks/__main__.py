from benchmarks import ranking, reading, startup, training_epoch

startup.main()
reading.main()
training_epoch.main()
ranking.main()
