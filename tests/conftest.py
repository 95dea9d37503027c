from hypothesis import Phase, settings

# Machines that run tests are shared: a slow example says nothing about the code, and a failing one need not be minimal.
settings.register_profile("eras", deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
settings.load_profile("eras")
