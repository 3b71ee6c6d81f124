/** The dependency rules: each takes all imports and returns one line per violation. */
import { findCycles } from './cycles.ts'
import type { Import } from './imports.ts'
import { engines, entryFiles, importable, type Layout } from './layout.ts'
import { engineOf, folderOf, packageOf, rootFileOf } from './places.ts'

type Rule = (imports: readonly Import[], layout: Layout) => string[]

/** All violations of all rules. */
export function findViolations(imports: readonly Import[], layout: Layout): string[] {
  return [packageRule, folderRule, browserRule, engineRule, lowerFolderCycleRule, fileCycleRule].flatMap((rule) =>
    rule(imports, layout),
  )
}

/** App → services → library packages; a library package imports no package of ours. */
const packageRule: Rule = (imports, layout) =>
  imports.flatMap(({ from, to }) => {
    const [source, target] = [packageOf(from), ourPackage(to, layout)]
    if (source === undefined || target === undefined || source === target) return []
    const [sourceRole, targetRole] = [layout[source]?.role, layout[target]?.role]
    if (sourceRole === undefined) return [violation(from, to, `${source} is not in the table of packages`)]
    if (targetRole === undefined) return [violation(from, to, `${target} is not in the table of packages`)]
    if (!to.startsWith('@')) return [violation(from, to, "reaches into another package's files; import it by its name")]
    if (importable[sourceRole].includes(targetRole) || layout[source]?.also?.includes(target)) return []
    return [violation(from, to, reasons[sourceRole](source, targetRole))]
  })

const reasons = {
  app: (source: string) => `${source} imports services and libraries; tests and benchmarks start servers`,
  service: (source: string, target: string) =>
    target === 'service'
      ? 'services never import each other: pass a function in the options'
      : `${source} is a service: it imports library packages only`,
  library: (source: string) => `${source} is a library package: it imports no package of ours`,
  browser: (source: string) => `${source} runs in a browser: it imports no package of ours`,
  tool: (source: string) => `${source} may import every package`,
} as const

function ourPackage(to: string, layout: Layout): string | undefined {
  if (to.startsWith('@gatehouse/') || /^(?:packages|apps)\//.test(to)) return packageOf(to)
  const name = packageOf(to)
  return /^[\w-]+\/.*\.(?:tsx?|js)$/.test(to) && name !== undefined && name in layout ? name : undefined
}

/** Entry files → feature folders → lower folders, never upward, and never from feature to feature. */
const folderRule: Rule = (imports, layout) =>
  imports.flatMap(({ from, to }) => {
    const [source, target] = [folderOf(from), folderOf(to)]
    const name = packageOf(from)
    if (!source || target === undefined || name === undefined || name !== packageOf(to) || source === target) return []
    const { lower = [], entries = [] } = layout[name] ?? {}
    const isLower = (folder: string): boolean => lower.includes(folder) || engines.includes(folder)
    if (target === '') {
      const isEntry = [...entryFiles, ...entries].includes(rootFileOf(to) ?? '')
      return isEntry ? [violation(from, to, 'no folder imports an entry file of its package')] : []
    }
    if (isLower(target)) return []
    return [
      violation(
        from,
        to,
        isLower(source)
          ? 'a lower folder imports no feature folder'
          : 'a feature folder imports no other feature folder; move what both need to a lower folder',
      ),
    ]
  })

/** What a browser loads has neither our libraries for servers nor modules of Node in it. */
const browserRule: Rule = (imports, layout) =>
  imports.flatMap(({ from, to }) => {
    const [name, folder] = [packageOf(from), folderOf(from)]
    const { browser = [], also = [] } = (name === undefined ? undefined : layout[name]) ?? {}
    if (folder === undefined || !browser.includes(folder)) return []
    const target = to.startsWith('@gatehouse/') ? (packageOf(to) ?? '') : undefined
    const isForBrowsers = target === undefined || layout[target]?.role === 'browser' || also.includes(target)
    if (!to.startsWith('node:') && isForBrowsers) return []
    return [violation(from, to, `${folder} runs in a browser`)]
  })

/** Engines are chosen where the app composes the services. Tests are not read. */
const engineRule: Rule = (imports) =>
  imports.flatMap(({ from, to }) => {
    const engine = engineOf(to)
    if (engine === undefined || !/^(?:packages|apps)\//.test(from)) return []
    if (from.startsWith(`${engine}/`) || from.startsWith('apps/gatehouse/src/compose')) return []
    return [violation(from, to, 'only compose/ and tests import an engine')]
  })

/** Lower folders may import lower folders, in one direction. */
const lowerFolderCycleRule: Rule = (imports, layout) => {
  const edges = new Map<string, Set<string>>()
  for (const { from, to } of imports) {
    const name = packageOf(from)
    const [source, target] = [folderOf(from), folderOf(to)]
    if (name === undefined || name !== packageOf(to) || !source || !target || source === target) continue
    const { lower = [], assembly } = layout[name] ?? {}
    if (!lower.includes(source) || !lower.includes(target)) continue
    if (source === assembly || target === assembly) continue
    const node = `${name}: ${source}`
    edges.set(node, (edges.get(node) ?? new Set()).add(`${name}: ${target}`))
  }
  return findCycles(edges).map((cycle) => `cycle of lower folders: ${cycle.join(' -> ')}`)
}

/** No file imports itself through others, types included. */
const fileCycleRule: Rule = (imports) => {
  const files = imports.filter(({ to }) => /\.(?:tsx?|js)$/.test(to) && !to.startsWith('@'))
  const edges = new Map(
    [...Map.groupBy(files, ({ from }) => from)].map(([from, all]) => [from, all.map(({ to }) => to)]),
  )
  return findCycles(edges).map((cycle) => `import cycle: ${cycle.join(' -> ')}`)
}

const violation = (from: string, to: string, reason: string): string => `${from} imports ${to}: ${reason}`
