import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { freePort } from '@gatehouse/testing'
import { type LiveIdentity, Person, startIdentity } from '../../packages/identity/test/support/live.ts'

const secret = 'service-secret-0123456789'
let server: LiveIdentity
let port: number
before(async () => {
  port = await freePort()
  server = await startIdentity({
    users: [{ id: 'alice', password: 'correct horse', claims: { name: 'Alice Adams' } }],
    clients: [
      { client_id: 'demo', client_secret: secret, scopes: ['read:users'] },
      {
        client_id: 'demo-web',
        token_endpoint_auth_method: 'none',
        redirect_uris: [`http://localhost:${port}/callback`],
      },
      {
        client_id: 'demo-device',
        token_endpoint_auth_method: 'none',
        grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
        scopes: ['openid', 'offline_access'],
      },
    ],
  })
})
after(() => server.close())

/** Starts an example; its output so far is found by `said`. */
function run(file: string, env: Record<string, string> = {}) {
  const child: ChildProcess = spawn(process.execPath, [join(import.meta.dirname, file)], {
    env: { ...process.env, ISSUER: server.issuer, CLIENT_SECRET: '', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  const waiting: { pattern: RegExp; found: (match: RegExpExecArray) => void }[] = []
  const look = () => {
    for (const { pattern, found } of waiting) {
      const match = pattern.exec(output)
      if (match) found(match)
    }
  }
  child.stdout?.on('data', (chunk) => {
    output += chunk
    look()
  })
  const said = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((found) => {
      waiting.push({ pattern, found })
      look()
    })
  return { said, stop: () => child.kill() }
}

test('the example of a service calls the example of a protected API', async () => {
  const apiPort = await freePort()
  const api = run('protected-api.ts', { PORT: String(apiPort) })
  await api.said(/listening/)
  assert.equal((await fetch(`http://localhost:${apiPort}/`)).status, 401)
  const service = run('service.ts', { CLIENT_SECRET: secret, API: `http://localhost:${apiPort}/` })
  await service.said(/200\nHello demo/)
  api.stop()
})

test('the example of a web application signs a user in', async () => {
  const application = run('web-app.ts', { PORT: String(port) })
  await application.said(/open http/)
  const begun = await fetch(`http://localhost:${port}/`, { redirect: 'manual' })
  const answer = await new Person().authorize(new URL(begun.headers.get('location') ?? ''))
  assert.equal(await (await fetch(answer)).text(), 'Hello Alice Adams')
  application.stop()
})

test('the example of a device is connected', async () => {
  const device = run('device.ts')
  const [, address = '', code = ''] = await device.said(/Open (\S+) and enter (\S+)/)
  assert.match((await new Person().browse(new URL(`${address}?user_code=${code}`))).text, /Device connected/)
  await device.said(/connected; the access token works/)
})
