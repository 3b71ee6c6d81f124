import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { startSmtp } from '@gatehouse/fakes'
import { startRedis, temporaryFolder, testWith } from '@gatehouse/testing'

const workspace = join(import.meta.dirname, '../..')

/** The Nodes of this machine: the one that runs this, and those on the path, older ones perhaps. */
const nodes = [
  ...new Set(
    [process.execPath, ...(process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'node'))]
      .filter((path) => existsSync(path))
      .map((path) => realpathSync(path)),
  ),
]

/** A product of its own, far from the workspace, with a library installed as it would be published. */
function productWith(library: string): string {
  const folder = temporaryFolder('product')
  const run = (args: readonly string[], cwd: string) =>
    execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000 })
  run(['run', 'build', '-w', `@gatehouse/${library}`], workspace)
  const dist = join(workspace, 'packages', library, 'dist')
  const { dependencies = {} } = JSON.parse(readFileSync(join(dist, 'package.json'), 'utf8'))
  // the dependencies are packed from the workspace too, so that nothing is downloaded
  const sources = [dist, ...Object.keys(dependencies).map((name) => join(workspace, 'node_modules', name))]
  const packed = sources.map((source) => `./${run(['pack', source, '--silent', '--ignore-scripts'], folder).trim()}`)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  run(['install', '--offline', '--no-audit', ...packed], folder)
  return folder
}

/** Runs a module of the product by a Node, and answers what it printed. */
function runBy(node: string, folder: string, text: string): string {
  const file = join(folder, 'main.js')
  writeFileSync(file, text)
  return execFileSync(node, [file], { cwd: folder, encoding: 'utf8', timeout: 20_000, env: {} }).trim()
}

/** Whether the product's module fits the types of the library, whose own are looked at too. */
function checkTypes(folder: string, text: string): void {
  writeFileSync(join(folder, 'typed.ts'), text)
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node']
  const roots = ['--typeRoots', join(workspace, 'node_modules/@types')]
  execFileSync(join(workspace, 'node_modules/.bin/tsc'), [...options, ...roots, 'typed.ts'], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 60_000,
  })
}

/** The first lines of code of a library's page, without the types that Node would have to strip. */
const firstExample = (library: string) =>
  /^```ts\n(.*?)^```$/ms.exec(readFileSync(join(workspace, 'packages', library, 'README.md'), 'utf8'))?.[1] ??
  assert.fail(`the page of ${library} has no example`)

describe('the rate limiter, installed in a product of its own', () => {
  const folder = productWith('limiter')

  test('brings nothing else with it', () => {
    const { dependencies, devDependencies, scripts } = JSON.parse(
      readFileSync(join(folder, 'node_modules/@gatehouse/limiter/package.json'), 'utf8'),
    )
    assert.deepEqual([dependencies, devDependencies, scripts], [undefined, undefined, undefined])
  })

  test('runs its page’s ten lines on every Node of this machine', () => {
    const example = `${firstExample('limiter').replace('.listen(3000)', '.listen(0, ask)')}
      async function ask() {
        const statuses = []
        const minute = () => Math.floor(Date.now() / 60_000)
        const begun = minute()
        for (let n = 0; n < 11; n++) statuses.push((await fetch('http://127.0.0.1:' + this.address().port)).status)
        console.log(begun === minute() ? statuses.join(' ') : 'again')
        process.exit()
      }`
    for (const node of nodes) {
      let printed = 'again'
      // In a minute that begins meanwhile as many are allowed again.
      while (printed === 'again') printed = runBy(node, folder, example)
      assert.equal(printed, `${'200 '.repeat(10)}429`, node)
    }
  })

  test('has every entrance it names, with types', () => {
    const names = ['', '/redis', '/fastify', '/express', '/fetch', '/conformance']
    for (const node of nodes) runBy(node, folder, names.map((name) => `import '@gatehouse/limiter${name}'`).join('\n'))
    checkTypes(
      folder,
      `import { createLimiter, type Decision, tierPolicy } from '@gatehouse/limiter'
       ${names.map((name, n) => `import * as entrance${n} from '@gatehouse/limiter${name}'\nvoid entrance${n}`).join('\n')}
       const free = tierPolicy('free', { rpm: 10, daily: 1000 })
       const decision: Decision | Promise<Decision> = createLimiter().check(free, { kind: 'user', id: 'alice' })
       void decision`,
    )
  })

  testWith('redis-server', 'counts in Redis', async () => {
    const redis = await startRedis()
    try {
      const ioredis = pathToFileURL(join(workspace, 'node_modules/ioredis/built/index.js'))
      const counted = `import { createLimiter, tierPolicy } from '@gatehouse/limiter'
        import { redisStore } from '@gatehouse/limiter/redis'
        import ioredis from '${ioredis}'
        const client = new ioredis.Redis('${redis.url}')
        const limiter = createLimiter({ store: redisStore(client) })
        const policy = tierPolicy('two', { rpm: 2, daily: 10 })
        const allowed = []
        for (let n = 0; n < 3; n++) allowed.push((await limiter.check(policy, { kind: 'user', id: process.execPath })).allowed)
        console.log(allowed.join(' '))
        process.exit()`
      for (const node of nodes) assert.equal(runBy(node, folder, counted), 'true true false', node)
    } finally {
      await redis.stop()
    }
  })
})

describe('the bearer check, installed in a product of its own', () => {
  const folder = productWith('bearer')

  test('refuses who brings no token, on every Node of this machine, and has types', () => {
    const example = `${firstExample('bearer').replace('.listen(8081)', '.listen(0, ask)')}
      async function ask() {
        const { status, headers } = await fetch('http://127.0.0.1:' + this.address().port)
        console.log(status, headers.get('www-authenticate'))
        process.exit()
      }`
    for (const node of nodes) assert.match(runBy(node, folder, example), /^401 Bearer realm="api"/, node)
    checkTypes(folder, firstExample('bearer'))
  })
})

describe('the client, installed in a product of its own', () => {
  const folder = productWith('client')

  test('brings nothing else with it, and has types', () => {
    const manifest = readFileSync(join(folder, 'node_modules/@gatehouse/client/package.json'), 'utf8')
    const { dependencies, devDependencies, scripts } = JSON.parse(manifest)
    assert.deepEqual([dependencies, devDependencies, scripts], [undefined, undefined, undefined])
    checkTypes(folder, firstExample('client'))
  })

  test('runs the example of the README, and the rest, on every Node of this machine', async () => {
    const requests: string[] = []
    const server = createServer((request, response) => {
      const { url = '', method } = request
      requests.push(`${method} ${url}`)
      const json = (value: object) => response.setHeader('content-type', 'application/json').end(JSON.stringify(value))
      const issuer = `http://localhost:${(server.address() as AddressInfo).port}`
      if (url.startsWith('/.well-known')) return json({ issuer, token_endpoint: `${issuer}/token` })
      if (url === '/token') return json({ access_token: 't', token_type: 'Bearer', expires_in: 900 })
      if (url.endsWith('/stream'))
        return response.setHeader('content-type', 'text/event-stream').end('data: {"a":1}\n\n')
      if (url === '/v1/notify') return json({ id: 'n1', deliveries: [] })
      if (url === '/v1/notifications/n1') return json({ deliveries: [{ channel: 'email', state: 'sent' }] })
      return json(url.includes('cursor') ? { items: [] } : { items: [{ event: 'a', priority: 'low' }], next: '2' })
    })
    await new Promise<void>((resolve) => server.listen(0, resolve))
    try {
      writeFileSync(join(folder, 'example.js'), firstExample('client'))
      const env = { GATEHOUSE_URL: `http://localhost:${(server.address() as AddressInfo).port}` }
      for (const node of nodes) {
        const { stdout } = await promisify(execFile)(node, ['example.js'], { cwd: folder, env, timeout: 20_000 })
        assert.equal(stdout, 'email sent\na low\n', node)
      }
      assert.ok(requests.includes('GET /v1/event-types?cursor=2'))
      // What depends on WebCrypto and streams, by the same server.
      const more = `import { clientCredentials, createGatehouse, signWebhook, verifyWebhook } from '@gatehouse/client'
        const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify'])
        const key = await crypto.subtle.exportKey('jwk', pair.privateKey)
        const issuer = process.env.GATEHOUSE_URL
        const gatehouse = createGatehouse({ baseUrl: issuer, credentials: clientCredentials({ issuer, clientId: 'a', privateKey: { key } }) })
        for await (const { data } of gatehouse.users.inbox.stream({ id: 'alice' })) { console.log(data.a); break }
        const secrets = ['whsec_' + btoa('a secret of 24 bytes, ok')]
        console.log((await verifyWebhook('{"b":2}', await signWebhook('{"b":2}', { secrets }), { secrets })).message.b)`
      writeFileSync(join(folder, 'more.js'), more)
      for (const node of nodes) {
        const { stdout } = await promisify(execFile)(node, ['more.js'], { cwd: folder, env, timeout: 20_000 })
        assert.equal(stdout, '1\n2\n', node)
      }
    } finally {
      server.close()
    }
  })
})

describe('the providers, installed in a product of its own', () => {
  const folder = productWith('providers')

  test('depend on nothing of this workspace', () => {
    const manifest = readFileSync(join(folder, 'node_modules/@gatehouse/providers/package.json'), 'utf8')
    const { dependencies, devDependencies, scripts } = JSON.parse(manifest)
    assert.deepEqual(Object.keys(dependencies), ['nodemailer', 'typebox', 'undici'])
    assert.deepEqual([devDependencies, scripts], [undefined, undefined])
  })

  test('run the example of the README and have types', async () => {
    const fake = await startSmtp()
    try {
      const text = firstExample('providers').replace(' as const', '')
      writeFileSync(join(folder, 'send.js'), text)
      const env = { SMTP_URL: fake.url }
      const { stdout } = await promisify(execFile)(process.execPath, ['send.js'], { cwd: folder, env, timeout: 20_000 })
      assert.equal(stdout, 'accepted\n')
      assert.equal(fake.requests.length, 1)
    } finally {
      await fake.stop()
    }
    checkTypes(folder, firstExample('providers'))
  })
})
