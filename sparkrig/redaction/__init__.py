"""Takes what identifies an owner or a machine, and every secret, out of a text (`redactor`).

At its bottom stands what all rooms above share: what is a secret by its name (`secret_names`) or its form
(`forms`), and where in a text one stands (`places`).
"""
