import { createTheme, type MantineColorsTuple } from '@mantine/core'

/** Shades of the blue of the sign-in pages (#1f5fbf, #8ab4f8). */
const brand: MantineColorsTuple = [
  '#eaf1fc',
  '#d3e2f8',
  '#adc9f3',
  '#8ab4f8',
  '#5c92e3',
  '#3a78d2',
  '#1f5fbf',
  '#1a52a6',
  '#16468f',
  '#103873',
]

/** The look of the console: that of the sign-in pages. */
export const theme = createTheme({
  primaryColor: 'brand',
  primaryShade: 6,
  colors: { brand },
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "Liberation Mono", monospace',
  headings: { sizes: { h1: { fontSize: '1.6rem' }, h2: { fontSize: '1.15rem' } } },
  respectReducedMotion: true,
})
