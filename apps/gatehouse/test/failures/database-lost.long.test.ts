import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import {
  asAdministrator,
  endSome,
  type PostgresServer,
  postgresDatabase,
  type Server,
  startNats,
  startPostgres,
  temporaryFolder,
  testWith,
  waysToLose,
} from '@gatehouse/testing'
import { loadConfiguration, sendEvents, shopToken, writeTemplate } from '../support/load.ts'
import { launch, type Program, started } from '../support/program.ts'

const file = `${loadConfiguration}  - { event: parcel.rated, channels: [in-app], rate_limit: { limit: 1000000, per_seconds: 60 } }
`
const faultyMs = 25_000
const recoveryMs = 40_000
const starts = 12
/** A start waits for nothing longer than this: it is ready, or it says why not. */
const maxStartMs = 30_000

describe('a program that loses its database', () => {
  let servers: { readonly postgres: PostgresServer; readonly nats: Server } | undefined
  before(async () => {
    servers = await Promise.all([startPostgres({ settings: ['max_connections=60'] }), startNats()]).then(
      ([postgres, nats]) => ({ postgres, nats }),
      () => undefined,
    )
  })
  after(() => Promise.all([servers?.postgres.stop(), servers?.nats.stop()]))

  const running = () => servers ?? assert.fail('PostgreSQL and NATS did not start')

  const environment = async (): Promise<Record<string, string>> => {
    const { postgres, nats } = running()
    const path = join(temporaryFolder('database-lost'), 'gatehouse.yaml')
    writeFileSync(path, file)
    const database = await postgresDatabase(postgres)
    const { rows } = await database.query<{ name: string }>('SELECT current_database() AS name')
    await database.close()
    return {
      GATEHOUSE_CONFIG: path,
      DATABASE_URL: postgres.url.replace(/[^/]+$/, rows[0]?.name ?? ''),
      NATS_URL: nats.url,
      SMTP_URL: 'smtp://127.0.0.1:9',
      ENCRYPTION_KEY: 'an-encryption-key-of-this-test-alone-1234',
    }
  }

  testWith('nats-server', 'lives through every way of losing it under traffic, and accepts again', async (t) => {
    const env = await environment()
    const program = await started({ env })
    const load = await produce(program)
    t.after(async () => {
      await load.stop()
      await program.stop('SIGKILL')
    })
    const ways = waysToLose(running().postgres, env.DATABASE_URL ?? '')
    const tried: string[] = []
    for (const until = Date.now() + faultyMs; Date.now() < until || tried.length < ways.length; ) {
      const quick = ways.filter(({ isQuick }) => isQuick)
      const way = ways[tried.length] ?? quick[Math.floor(Math.random() * quick.length)]
      tried.push(way?.name ?? '')
      await way?.lose()
      const { exitCode } = program.process
      assert.equal(
        exitCode,
        null,
        `ended after: ${tried.slice(-3)}; ${exitCode === null || (await program.ended).stderr}`,
      )
    }
    await load.accepts(200, recoveryMs)
    const statuses = await load.stop()
    const { code, stderr } = await program.stop()
    t.diagnostic(`${tried.length} losses; statuses ${JSON.stringify(statuses)}`)
    assert.deepEqual([code, stderr], [0, ''])
    assert.deepEqual(
      Object.keys(statuses).filter((status) => status !== '202' && status !== '503'),
      [],
    )
  })

  testWith('nats-server', 'is ready or says why it is not, wherever in its start it loses it', async (t) => {
    const env = await environment()
    const codes: Array<number | null> = []
    for (let n = 0; n < starts; n++) {
      const program = await launch({ env })
      const ready = program.printed('is ready after').then(
        () => true,
        () => false,
      )
      const losing = new AbortController()
      const loses = loseNowAndThen(env.DATABASE_URL ?? '', losing.signal)
      const timeout = setTimeout(() => program.process.kill('SIGKILL'), maxStartMs)
      const isReady = await ready
      clearTimeout(timeout)
      losing.abort()
      await loses
      const { code, signal, stderr } = await program.stop()
      codes.push(isReady ? 0 : code)
      assert.equal(signal, null, 'it waits for ever')
      if (!isReady) assert.match(stderr, /^gatehouse: /, 'it says why')
    }
    t.diagnostic(`exit codes ${codes.join(' ')}`)
    const program = await started({ env })
    assert.equal((await program.stop()).code, 0, 'what was begun is finished by the next start')
  })
})

async function loseNowAndThen(url: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await asAdministrator(url, endSome(Math.random() < 0.3 ? 1 : 0))
    await passing(Math.random() * 120)
  }
}

function passing(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds)
  })
}

const producers = 8

/** Sends events, asks for tokens and looks at the readiness until it is stopped. */
async function produce(program: Program) {
  const statuses: Record<string, number> = {}
  const ending = new AbortController()
  const { signal } = ending
  const token = await shopToken(program)
  for (const event of ['parcel.moved', 'parcel.rated']) await writeTemplate(program, event)
  const ask = async () => {
    while (!signal.aborted) {
      await shopToken(program)
      await (await fetch(`${program.url}/readyz`, { signal })).arrayBuffer()
    }
  }
  const sending = sendEvents(program, {
    token,
    producers,
    isStopped: () => signal.aborted,
    signal,
    eventAt: (index) => ({
      event: index % 2 === 0 ? 'parcel.moved' : 'parcel.rated',
      user_id: `user-${index % 500}`,
      data: {},
    }),
    async onResponse(answer) {
      await answer.arrayBuffer()
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
    },
  })
  const running = Promise.allSettled([ask(), sending])
  return {
    /** Resolves when so many more were accepted. */
    async accepts(count: number, withinMs: number): Promise<void> {
      const wanted = (statuses[202] ?? 0) + count
      for (const until = Date.now() + withinMs; (statuses[202] ?? 0) < wanted; await passing(50))
        assert.ok(Date.now() < until, `it does not accept again: ${JSON.stringify(statuses)}`)
    },
    async stop() {
      ending.abort()
      await running
      return statuses
    },
  }
}
