/** Writes the browser application to `dist`, for packages without esbuild: `node apps/console/src/server/shell/package.ts`. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { bundleSources, packaged } from './bundle.ts'

const files = await bundleSources()
rmSync(packaged, { recursive: true, force: true })
mkdirSync(packaged, { recursive: true })
for (const [name, contents] of files) writeFileSync(new URL(name, packaged), contents)
console.log(`${files.size} files in ${packaged.pathname}`)
