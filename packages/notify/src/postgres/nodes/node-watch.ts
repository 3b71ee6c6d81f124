import { WatchedNode, type WatchedNodeOptions } from './watched-node.ts'

/** What a {@link NodeWatch} needs. */
export type NodeWatchOptions = Omit<WatchedNodeOptions, 'isAwaited' | 'onReturn'>

/**
 * Keeps a node that does not answer from holding up what is on the others. Where work on a node is slow, the node is
 * probed; where that is not answered either, all work under way on it is ended, and further work is refused at once until
 * a probe is answered. Work that is slow on a node that answers goes on. No more than a share of the connections is in use
 * for one node, so that there are some left before it is known to be silent.
 */
export class NodeWatch {
  readonly #options: WatchedNodeOptions
  readonly #nodes = new Map<string, WatchedNode>()
  readonly #listeners = new Set<(node: string) => void>()

  constructor(options: NodeWatchOptions) {
    this.#options = {
      ...options,
      isAwaited: () => this.#listeners.size > 0,
      onReturn: (node) => {
        for (const listener of this.#listeners) listener(node)
      },
    }
  }

  /**
   * Runs work on a node. The work is to end when its signal aborts, and need not: it is awaited no longer.
   * @throws NodeUnavailable when the node is silent, or too much is under way on it
   */
  run<Result>(node: string, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const known = this.#nodes.get(node) ?? new WatchedNode(node, this.#options)
    this.#nodes.set(node, known)
    return known.run(work)
  }

  /**
   * Runs work on several nodes, as {@link run} does: it ends with the first of them that falls silent. Its turn is
   * awaited on one node after the other, in the order of their names, so that no two wait in a circle.
   * @throws NodeUnavailable when one of them is silent, or too much is under way on it
   */
  runOnEach<Result>(nodes: Iterable<string>, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const onAll = (signals: readonly AbortSignal[]) => work(AbortSignal.any([...signals]))
    const run = [...nodes]
      .sort()
      .reduceRight((inner, node) => (signals) => this.run(node, (signal) => inner([...signals, signal])), onAll)
    return run([])
  }

  /**
   * Calls back with a node that was silent, refused connections or could not be probed, once it answers again, until the
   * returned function is called. Such a node is probed every second as long as anybody listens.
   */
  onReturn(listener: (node: string) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** Forgets the nodes that are no longer there. */
  keep(nodes: ReadonlySet<string>): void {
    for (const [name, node] of this.#nodes) {
      if (nodes.has(name)) continue
      node.dispose()
      this.#nodes.delete(name)
    }
  }
}
