import { StartError } from '../start-error.ts'

/** How the pages look, from the configuration. */
export interface Branding {
  /** The product's name, at the top of every page. */
  readonly name: string
  /** An https address of a logo, about 40 pixels high. */
  readonly logoUrl?: string
  /** The colour of buttons and links, as #rrggbb: in light and in dark surroundings. */
  readonly colour: string
  readonly colourDark: string
  /** A folder with further `<locale>.json` files, or words that take the place of ours. */
  readonly textsFolder?: URL
}

const defaultBranding: Branding = { name: 'Gatehouse', colour: '#1f5fbf', colourDark: '#8ab4f8' }

const hexColour = /^#[0-9a-f]{6}$/i
const white: readonly number[] = [255, 255, 255]
const black: readonly number[] = [0, 0, 0]

/** The defaults with `chosen` over them. @throws StartError naming what is wrong */
export function brandingFrom(chosen: Partial<Branding> = {}): Branding {
  const branding = { ...defaultBranding, ...chosen }
  for (const name of ['colour', 'colourDark'] as const) {
    if (!hexColour.test(branding[name])) throw new StartError(`branding ${name} must be a colour such as #1f5fbf`)
  }
  if (branding.logoUrl !== undefined && URL.parse(branding.logoUrl)?.protocol !== 'https:') {
    throw new StartError('branding logo must be an https:// address')
  }
  return branding
}

/** The letter that stands for the product where there is no logo. */
export function initialOf({ name }: Pick<Branding, 'name'>): string {
  return [...name].slice(0, 1).join('').toUpperCase()
}

/** Black or white, whichever is easier to read on the colour (WCAG 2.2, contrast). */
export function inkOn(colour: string): string {
  const rgb = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))
  return contrast(rgb, white) >= contrast(rgb, black) ? '#ffffff' : '#000000'
}

function contrast(a: readonly number[], b: readonly number[]): number {
  const [low = 0, high = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y)
  return (high + 0.05) / (low + 0.05)
}

function luminance(rgb: readonly number[]): number {
  const [red = 0, green = 0, blue = 0] = rgb.map((value) => {
    const share = value / 255
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
