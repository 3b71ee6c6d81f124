import { join } from 'node:path'
import { build } from 'esbuild'

/** The client as a bundler makes it for browsers: minified, with what these exports need and nothing else. */
export async function bundleOf(statement: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: statement, resolveDir: join(import.meta.dirname, '../../src'), loader: 'ts' },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2022',
  })
  return outputFiles[0]?.text ?? ''
}
