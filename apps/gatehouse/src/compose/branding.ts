import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { omitUndefined } from './defined-members.ts'
import type { Parts } from './parts.ts'

/** How every page looks, whichever service serves it. */
export function branding({ file, folder }: Parts['config']) {
  const { name, logo_url: logoUrl, colour, colour_dark: colourDark, texts } = file.branding ?? {}
  const textsFolder = texts === undefined ? undefined : pathToFileURL(`${resolve(folder, texts)}/`)
  return omitUndefined({ name, logoUrl, colour, colourDark, textsFolder })
}
