/**
 * The walls of the house: which package may import which, what feature folders and engines may be imported by, and no
 * import circles. Prints every breach and exits 1.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const services = ['identity', 'notify', 'gateway']
const stones = ['limiter', 'bearer', 'providers', 'kit']
/** Folders that lie below the feature folders of their package: every feature may use them. */
const lowerFolders = new Set([
  'keys',
  'pages',
  'providers',
  'model',
  'options',
  'transport',
  'mail',
  'push',
  'signature',
  'algorithms',
  'memory',
  'redis',
  'postgres',
  'nats',
  'request',
  'templates',
  'catalog',
  'preferences',
  'links',
  'config',
  'store',
  'context',
  'admission',
  'plan',
  'combination',
  'hybrid',
  'hot-keys',
  'simulation',
])
const engines = ['postgres', 'redis', 'nats']

interface Import {
  readonly from: string
  readonly to: string
}

const breaches: string[] = []
const imports = sourceFiles().flatMap(importsOf)

checkPackages()
checkFolders()
checkEngines()
checkCircles()

for (const breach of breaches) console.error(breach)
console.log(
  breaches.length === 0
    ? `walls: ${imports.length} imports, all within the walls`
    : `walls: ${breaches.length} breaches`,
)
process.exitCode = breaches.length === 0 ? 0 : 1

function sourceFiles(): string[] {
  return ['packages', 'apps'].flatMap((group) =>
    readdirSync(join(root, group)).flatMap((name) => filesBelow(join(root, group, name, 'src'))),
  )
}

function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|js)$/.test(name))
    .map((name) => relative(root, join(folder, name)))
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8')
  const pattern =
    /^(?:import|export)\b[^'"]*?from\s*['"]([^'"]+)['"]|^import\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm
  return [...text.matchAll(pattern)].map((match) => {
    const specifier = match[1] ?? match[2] ?? match[3] ?? ''
    return {
      from: file,
      to: specifier.startsWith('.') ? relative(root, resolve(root, dirname(file), specifier)) : specifier,
    }
  })
}

function packageOf(path: string): string | undefined {
  return /^@gatehouse\/([\w-]+)/.exec(path)?.[1] ?? /^packages\/([\w-]+)\//.exec(path)?.[1]
}

function checkPackages(): void {
  for (const { from, to } of imports) {
    const [mine, theirs] = [packageOf(from), packageOf(to)]
    if (theirs === undefined || mine === theirs) continue
    if (to.startsWith('packages/')) breach(from, to, "reaches into another package's files; import its name")
    if (mine === undefined) continue
    if (stones.includes(mine)) breach(from, to, `${mine} imports no package of ours`)
    if (services.includes(mine) && services.includes(theirs))
      breach(from, to, 'services meet as functions in options, in compose.ts')
    if (theirs === 'testing') breach(from, to, 'only tests and races start servers')
  }
}

/** Folder of a file inside its package's src, '' at the top. */
function folderOf(path: string): string | undefined {
  return /^(?:packages|apps)\/[\w-]+\/src\/(?:([\w-]+)\/)?/
    .exec(path)
    ?.slice(1, 2)
    .map((folder) => folder ?? '')[0]
}

function checkFolders(): void {
  for (const { from, to } of imports) {
    const [mine, theirs] = [folderOf(from), folderOf(to)]
    if (!mine || theirs === undefined || packageOf(from) !== packageOf(to) || mine === theirs) continue
    if (/\/src\/(index|routes)\.ts$/.test(to))
      breach(from, to, 'never upward: a feature folder does not import the door or the routes')
    if (theirs !== '' && !lowerFolders.has(theirs)) breach(from, to, 'feature folders do not import each other')
  }
}

function checkEngines(): void {
  for (const { from, to } of imports) {
    const engine = engines.find(
      (name) => to.includes(`/src/${name}/`) || new RegExp(`^@gatehouse/[\\w-]+/${name}$`).test(to),
    )
    if (engine === undefined || from.includes(`/src/${engine}/`) || /apps\/gatehouse\/src\/compose(\.ts|\/)/.test(from))
      continue
    breach(from, to, 'engines are chosen in compose.ts alone')
  }
}

function checkCircles(): void {
  const graph = Map.groupBy(
    imports.filter(({ to }) => to.endsWith('.ts') && !to.startsWith('@')),
    ({ from }) => from,
  )
  const done = new Set<string>()
  const path: string[] = []
  const visit = (file: string): void => {
    const start = path.indexOf(file)
    if (start >= 0) breaches.push(`import circle: ${[...path.slice(start), file].join(' -> ')}`)
    if (start >= 0 || done.has(file)) return
    path.push(file)
    for (const { to } of graph.get(file) ?? []) visit(to)
    path.pop()
    done.add(file)
  }
  for (const file of graph.keys()) visit(file)
}

function breach(from: string, to: string, why: string): void {
  breaches.push(`${from} imports ${to}: ${why}`)
}
