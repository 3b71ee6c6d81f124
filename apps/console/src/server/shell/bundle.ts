import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { directImports } from './direct-imports.ts'

/** A file of the browser application. */
export interface Asset {
  readonly type: string
  readonly bytes: Buffer
  readonly gzip: Buffer
}

/** The browser application: its files by name, and those that the first page loads. */
export interface Bundle {
  readonly assets: ReadonlyMap<string, Asset>
  readonly script: string
  readonly style: string
  /** Scripts that `script` imports at once. */
  readonly preload: readonly string[]
}

const home = new URL('../../../', import.meta.url)
const sources = new URL('src/', home)
/** Where packaging writes the application; it is not in a checkout. */
export const packaged = new URL('dist/', home)

const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
}

/** Bundles the sources with esbuild, which is loaded for it. */
export async function bundleSources(): Promise<ReadonlyMap<string, Uint8Array>> {
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    entryPoints: { main: new URL('src/browser/main.tsx', home).pathname },
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2024',
    jsx: 'automatic',
    minify: true,
    write: false,
    outdir: '/assets',
    entryNames: '[name]-[hash]',
    chunkNames: 'chunk-[hash]',
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [directImports('@mantine/core')],
    legalComments: 'none',
    logLevel: 'silent',
  })
  return new Map(outputFiles.map(({ path, contents }) => [path.replace(/^.*[\\/]/, ''), contents]))
}

/**
 * The application: bundled from its sources in a checkout and again when one of them changes, else as it was packaged.
 * Concurrent callers share one bundling.
 */
export function createBundler(): () => Promise<Bundle> {
  let version: string | undefined
  let bundle: Promise<Bundle> | undefined
  return () => {
    const now = existsSync(packaged) ? 'packaged' : sourceVersion()
    if (bundle === undefined || now !== version) {
      version = now
      bundle = load(now === 'packaged')
      bundle.catch(() => {
        bundle = undefined
      })
    }
    return bundle
  }
}

async function load(isPackaged: boolean): Promise<Bundle> {
  if (!isPackaged) return bundleOf(await bundleSources())
  return bundleOf(new Map(readdirSync(packaged).map((name) => [name, readFileSync(new URL(name, packaged))])))
}

/** Changes with every source of the application. */
function sourceVersion(): string {
  const hash = createHash('sha256')
  for (const folder of ['browser/', 'actions/'])
    for (const name of readdirSync(new URL(folder, sources), { recursive: true, encoding: 'utf8' }).sort())
      hash.update(`${name} ${statSync(new URL(folder + name, sources)).mtimeMs}\n`)
  return hash.digest('hex')
}

function bundleOf(files: ReadonlyMap<string, Uint8Array>): Bundle {
  const assets = new Map(
    [...files].map(([name, contents]) => {
      const bytes = Buffer.from(contents)
      const type = types[name.replace(/^.*\./, '')] ?? 'application/octet-stream'
      return [name, { type, bytes, gzip: gzipSync(bytes) }] as const
    }),
  )
  const find = (pattern: RegExp) => [...assets.keys()].find((name) => pattern.test(name))
  const [script, style] = [find(/^main-.*\.js$/), find(/^main-.*\.css$/)]
  if (script === undefined || style === undefined)
    throw new Error('the browser application has no main script or style')
  return { assets, script, style, preload: importsOf(script, assets) }
}

/** The scripts that a script imports statically, and those that they import. */
function importsOf(script: string, assets: ReadonlyMap<string, Asset>, found: readonly string[] = []): string[] {
  const text = assets.get(script)?.bytes.toString('utf8') ?? ''
  const names = [...text.matchAll(/(?:from|import)"\.\/([\w.-]+\.js)"/g)].map(([, name = '']) => name)
  const fresh = names.filter((name) => !found.includes(name))
  return fresh.reduce<string[]>((all, name) => importsOf(name, assets, all), [...new Set([...found, ...fresh])])
}
