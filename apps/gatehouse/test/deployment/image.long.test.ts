import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import {
  buildImage,
  findProgram,
  freePort,
  type Image,
  type Server,
  startPostgres,
  startRedis,
  testWith,
} from '@gatehouse/testing'
import { parse } from 'yaml'
import { root } from '../support/program.ts'

const file = `
clients:
  - client_id: shop
    client_secret: the-secret-of-the-shop-in-a-container
    grant_types: [client_credentials]
    scopes: [read:notifications]
    plan: free
tiers:
  free: { rpm: 2 }
channels: { push: off, sms: off, email: off }
`

describe('the image', () => {
  let image: Image
  let postgres: Server
  let redis: Server
  before(async () => {
    if (findProgram('buildah') === undefined || process.getuid?.() !== 0) return
    image = await buildImage()
    ;[postgres, redis] = await Promise.all([startPostgres(), startRedis()])
  })
  after(async () => {
    await Promise.all([image?.remove(), postgres?.stop(), redis?.stop()])
  })

  const start = async (t: TestContext, env: Readonly<Record<string, string>> = {}) => {
    const port = await freePort()
    const container = await image.start({
      env: {
        PORT: String(port),
        BASE_URL: `http://localhost:${port}`,
        AUTH_URL: `http://localhost:${port}`,
        DATABASE_URL: postgres.url,
        REDIS_URL: redis.url,
        ...env,
      },
      files: { '/app/gatehouse.yaml': file },
    })
    t.after(() => container.stop('SIGKILL'))
    return { container, url: `http://localhost:${port}` }
  }

  testWith('buildah', 'runs on PostgreSQL and Redis without root, writing to its root, or capabilities', async (t) => {
    const { container, url } = await start(t, { ENCRYPTION_KEY: 'an-encryption-key-for-the-container-alone' })
    await container.printed('is ready after')

    const ready = await fetch(`${url}/readyz`)
    assert.deepEqual(
      [ready.status, await ready.json()],
      [200, { status: 'ready', engines: { database: 'ok', counters: 'ok' } }],
    )
    assert.deepEqual(await limited(url), [false, false, true])
    assert.equal((await fetch(`${url}/dev/mailbox`)).status, 404)

    const healthy = await container.exec(image.config.Healthcheck.Test.slice(1))
    assert.deepEqual([healthy.code, healthy.output], [0, ''])
    const who = await container.exec(['sh', '-c', 'id -un; grep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status'])
    assert.match(who.output, /^node\nCapEff:\s0+\nCapBnd:\s0+\nNoNewPrivs:\s1\n$/)
    const written = await container.exec(['sh', '-c', 'touch /app/x; touch /etc/x; touch /data/x && touch /tmp/x'])
    assert.equal(written.code, 0, written.output)
    assert.equal(written.output.match(/Read-only file system/g)?.length, 2)
    const administrators = await container.exec(['node', 'apps/gatehouse/src/cli.ts', 'admin', 'list'])
    assert.equal(administrators.code, 0, administrators.output)

    assert.equal((await container.stop()).code, 0)
  })

  testWith('buildah', 'ends its start when a required setting is missing, and names it', async (t) => {
    const { container } = await start(t)
    const { code, output } = await container.ended
    assert.equal(code, 1)
    assert.match(output, /ENCRYPTION_KEY/)
  })

  testWith('buildah', 'brings the pinned Node and no example file, test, or development dependency', async () => {
    const app = join(image.folder, 'app')
    assert.ok(existsSync(join(app, 'node_modules/.bin/node')))
    for (const path of ['gatehouse.yaml', 'testing', 'bench', 'fakes', 'data', '.git', '.env']) {
      assert.equal(existsSync(join(app, path)), false, path)
    }
    for (const name of ['typescript', 'playwright-core', '@biomejs', 'fast-check']) {
      assert.equal(existsSync(join(app, 'node_modules', name)), false, name)
    }
    assert.deepEqual(globSync('{apps,packages}/*/{test,src}/**/*.test.ts', { cwd: app }), [])
  })
})

test('compose.yaml sets only variables that exist', () => {
  const compose = parse(readFileSync(join(root, 'compose.yaml'), 'utf8'))
  const settings = readFileSync(join(root, 'docs/operations.md'), 'utf8').split('\n## ')[1] ?? ''
  const known = new Set([...settings.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name))
  const names = Object.keys(compose.services.gatehouse.environment)
  assert.ok(names.length > 10)
  assert.deepEqual(
    names.filter((name) => !known.has(name)),
    [],
  )
})

/** Which of three requests of a client whose tier has room for two are rejected by its limit. */
async function limited(url: string): Promise<boolean[]> {
  const answer = await fetch(`${url}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: 'shop',
      client_secret: 'the-secret-of-the-shop-in-a-container',
    }),
  })
  const { access_token } = (await answer.json()) as { access_token: string }
  const rejected: boolean[] = []
  for (let request = 0; request < 3; request++) {
    const { status } = await fetch(`${url}/v1/notifications/n_0`, {
      headers: { authorization: `Bearer ${access_token}` },
    })
    rejected.push(status === 429)
  }
  return rejected
}
