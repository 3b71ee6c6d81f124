import { readFile } from 'node:fs/promises'
import type { Http } from '../http/server.ts'
import { type Branding, brandingFrom } from './branding.ts'
import { icon } from './icon.ts'
import { siteStyleSheet } from './site.ts'
import { colourSheet, styleSheet } from './style.ts'

/** What {@link serveAssets} serves. */
export interface AssetOptions {
  /** The path that the names of the files follow. */
  readonly path: string
  /** A folder of style sheets and scripts. */
  readonly folder: URL
  readonly branding?: Partial<Branding>
}

const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

/** A name of one folder, without the way to another. */
const fileName = /^[a-z][a-z-]*\.(css|js|svg)$/

/** Serves what pages load: the style sheets, the icon, and the files of a folder. Each is read when it is asked for. */
export function serveAssets(http: Http, { path, folder, branding: chosen }: AssetOptions): void {
  const branding = brandingFrom(chosen)
  const made: Readonly<Record<string, () => string>> = {
    'colours.css': () => colourSheet(branding),
    'style.css': () => styleSheet(branding),
    'site.css': () => siteStyleSheet,
    'icon.svg': () => icon(branding),
  }
  http.get<{ Params: { file: string } }>(`${path}/:file`, { schema: { hide: true } }, async (request, reply) => {
    const { file } = request.params
    const [, extension = ''] = fileName.exec(file) ?? []
    const text = made[file]?.() ?? (extension && (await readOrNothing(new URL(file, folder))))
    if (!text) return reply.callNotFound()
    return reply
      .header('cache-control', 'no-cache')
      .type(types[extension] ?? '')
      .send(text)
  })
}

async function readOrNothing(file: URL): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
