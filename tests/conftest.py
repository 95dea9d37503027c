from hypothesis import settings

# Machines that run tests are shared: a slow example says nothing about the code.
settings.register_profile("eras", deadline=None)
settings.load_profile("eras")
