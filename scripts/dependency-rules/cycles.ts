/** Finds the cycles of a graph. */

/** Each cycle that a depth-first walk meets, as the names along it with the first one repeated at the end. */
export function findCycles(edges: ReadonlyMap<string, Iterable<string>>): string[][] {
  const cycles: string[][] = []
  const done = new Set<string>()
  const path: string[] = []
  const walk = (name: string): void => {
    const start = path.indexOf(name)
    if (start >= 0) cycles.push([...path.slice(start), name])
    if (start >= 0 || done.has(name)) return
    path.push(name)
    for (const next of edges.get(name) ?? []) walk(next)
    path.pop()
    done.add(name)
  }
  for (const name of edges.keys()) walk(name)
  return cycles
}
