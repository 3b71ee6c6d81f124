import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { given } from './given.ts'
import type { Parts } from './parts.ts'

/** How every page looks, whichever service serves it. */
export function branding({ file, folder }: Parts['config']) {
  const { name, logo_url: logoUrl, colour, colour_dark: colourDark, texts } = file.branding ?? {}
  const textsFolder = texts === undefined ? undefined : pathToFileURL(`${resolve(folder, texts)}/`)
  return given({ name, logoUrl, colour, colourDark, textsFolder })
}
