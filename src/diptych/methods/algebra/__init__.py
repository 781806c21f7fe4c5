"""Linear algebra behind the correlation methods: pure functions of centred matrices."""
