import { PGlite } from '@electric-sql/pglite'
import { createEmbeddedDatabase, type Database } from '@gatehouse/kit'
import { afterGroup } from '../test-group.ts'
import { readState, restore, type State } from './pristine.ts'
import { freshDataDir, type Prepare } from './template.ts'

interface Engine {
  readonly pglite: PGlite
  readonly pristine: State
}

/** Between two tests: those that were used last, with what ends them. */
const idle = new Map<Engine, { readonly prepare: Prepare; readonly end: NodeJS.Timeout }>()
/** More at a time are rarely used again, and each takes memory. */
const maxIdle = 4
/** An engine keeps its process from ending: a file that runs alone waits so long at its end, a group does not. */
const maxIdleMs = { alone: 1_000, inGroup: 60_000 }

/**
 * An embedded database in memory: empty, or as `prepare` makes it. Starting one takes a second, so an engine that was
 * prepared serves the tests of its process one after the other. To close its database is to give it back: before the
 * next test everything in it is put back as `prepare` left it, and compared; an engine where anything differs is ended,
 * and a new one started.
 */
export async function memoryDatabase(prepare?: Prepare): Promise<Database> {
  if (prepare === undefined) return createEmbeddedDatabase(await start())
  const engine = (await idleOne(prepare)) ?? (await prepared(prepare))
  return createEmbeddedDatabase(closing(engine.pglite, () => keep(engine, prepare)))
}

/** Keeps an engine for the next test, for a while. */
function keep(engine: Engine, prepare: Prepare): void {
  const isInGroup = afterGroup(endIdle)
  const end = setTimeout(() => endOne(engine), isInGroup ? maxIdleMs.inGroup : maxIdleMs.alone)
  idle.set(engine, { prepare, end: end.unref() })
  const [oldest] = idle.keys()
  if (idle.size > maxIdle && oldest) endOne(oldest)
}

function endIdle(): void {
  for (const engine of idle.keys()) endOne(engine)
}

function endOne(engine: Engine): void {
  clearTimeout(idle.get(engine)?.end)
  if (idle.delete(engine)) void engine.pglite.close()
}

async function start(): Promise<PGlite> {
  return PGlite.create({ loadDataDir: await freshDataDir() })
}

async function prepared(prepare: Prepare): Promise<Engine> {
  const pglite = await start()
  const database = await createEmbeddedDatabase(closing(pglite, () => {}))
  await prepare(database)
  await database.close()
  return { pglite, pristine: await readState(pglite) }
}

async function idleOne(prepare: Prepare): Promise<Engine | undefined> {
  for (const [engine, entry] of idle) {
    if (entry.prepare !== prepare) continue
    clearTimeout(entry.end)
    idle.delete(engine)
    if (await restore(engine.pglite, engine.pristine)) return engine
    await engine.pglite.close()
  }
  return undefined
}

/** The engine to those who use it, except that closing it does `close`. */
function closing(pglite: PGlite, close: () => void): PGlite {
  return new Proxy(pglite, {
    get(target, name) {
      if (name === 'close') return async () => close()
      const member = Reflect.get(target, name, target)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}
