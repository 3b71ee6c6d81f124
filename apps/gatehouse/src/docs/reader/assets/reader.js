// Everything that would ask another server is switched off; the policy of the page refuses it besides.
const place = document.querySelector('#reference')
Scalar.createApiReference(place, {
  url: '/openapi.json',
  theme: 'none',
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideClientButton: true,
  documentDownloadType: 'json',
  localization: { locale: place.dataset.locale },
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  hideDarkModeToggle: true,
})
