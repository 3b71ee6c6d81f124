import { PGlite } from '@electric-sql/pglite'
import { createEmbeddedDatabase, type Database } from '@gatehouse/kit'
import { readState, restore, type State } from './pristine.ts'
import { freshDataDir, type Prepare } from './template.ts'

interface Engine {
  readonly pglite: PGlite
  readonly pristine: State
}

/** Between two tests; the longest that one waits for the next test, then it ends and lets the process end. */
const idle = new Map<Engine, { readonly prepare: Prepare; readonly end: NodeJS.Timeout }>()
const maxIdleMs = 1_000

/**
 * An embedded database in memory: empty, or as `prepare` makes it. Starting one takes a second, so an engine that was
 * prepared serves the tests of its process one after the other. To close its database is to give it back: before the
 * next test everything in it is put back as `prepare` left it, and compared; an engine where anything differs is ended,
 * and a new one started.
 */
export async function memoryDatabase(prepare?: Prepare): Promise<Database> {
  if (prepare === undefined) return createEmbeddedDatabase(await start())
  const engine = (await idleOne(prepare)) ?? (await prepared(prepare))
  return createEmbeddedDatabase(
    closing(engine.pglite, () => {
      const end = setTimeout(() => idle.delete(engine) && void engine.pglite.close(), maxIdleMs)
      idle.set(engine, { prepare, end: end.unref() })
    }),
  )
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
