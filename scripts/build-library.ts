/**
 * Makes of the library in the current folder what others install: `npm run build -w @gatehouse/limiter` leaves in its
 * `dist` a package of JavaScript with types, without scripts and dependencies of development, ready for `npm publish` or
 * `npm pack`. Here the library runs from its sources.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

interface Manifest {
  readonly exports: Readonly<Record<string, string>>
  readonly [member: string]: unknown
}

const workspace = resolve(import.meta.dirname, '..')
const tsc = join(workspace, 'node_modules/.bin/tsc')

rmSync('dist', { recursive: true, force: true })
execFileSync(tsc, ['-p', 'tsconfig.build.json'], { stdio: 'inherit' })
for (const file of globSync('**/*.{lua,sql}', { cwd: 'src' })) cpSync(join('src', file), join('dist', file))
cpSync('README.md', 'dist/README.md')
cpSync(join(workspace, 'LICENSE'), 'dist/LICENSE')
writeFileSync('dist/package.json', `${JSON.stringify(published(), undefined, 2)}\n`)

function published(): object {
  const { scripts: _scripts, private: _private, devDependencies: _dev, exports, ...kept } = readManifest()
  const compiled = Object.entries(exports).map(([name, source]) => {
    const file = source.replace('./src/', './').replace(/\.ts$/, '')
    return [name, { types: `${file}.d.ts`, default: `${file}.js` }]
  })
  return { ...kept, sideEffects: false, exports: Object.fromEntries(compiled) }
}

function readManifest(): Manifest {
  return JSON.parse(readFileSync('package.json', 'utf8'))
}
