"""What is a secret: by its name (`names`), by its form (`forms`), and where one stands in a text (`places`)."""
