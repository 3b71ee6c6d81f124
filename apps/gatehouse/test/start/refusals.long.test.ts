import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '@gatehouse/testing'
import { launch, type ProgramOptions, started } from '../support/program.ts'

async function refusal(options: ProgramOptions): Promise<string[]> {
  const { code, stderr } = await (await launch(options)).ended
  assert.equal(code, 1, stderr)
  assert.ok(!/\n\s+at /.test(stderr), `no stack trace: ${stderr}`)
  return stderr.trimEnd().split('\n')
}

function config(text: string): Record<string, string> {
  const path = join(temporaryFolder('config'), 'gatehouse.yaml')
  writeFileSync(path, text)
  return { GATEHOUSE_CONFIG: path }
}

test('a taken port ends the start with one clear line', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = address && typeof address === 'object' ? address.port : assert.fail('no port')
  const dataDir = join(temporaryFolder('data'), 'none')
  const lines = await refusal({ port, dataDir })
  server.close()
  assert.ok(!existsSync(dataDir), 'secrets that are shown once are not made by a start that fails')
  assert.deepEqual(lines, [`gatehouse: 127.0.0.1:${port} is taken by another process (HOST, PORT).`])
})

test('a taken port of the metrics ends the start before anything is made', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = address && typeof address === 'object' ? address.port : assert.fail('no port')
  const dataDir = join(temporaryFolder('data'), 'none')
  const lines = await refusal({ dataDir, env: { METRICS_PORT: String(port) } })
  server.close()
  assert.ok(!existsSync(dataDir), 'secrets that are shown once are not made by a start that fails')
  assert.deepEqual(lines, [`gatehouse: 127.0.0.1:${port} is taken by another process (METRICS_HOST, METRICS_PORT).`])
})

test('a data folder that can not be written ends the start with one clear line', async () => {
  const file = join(temporaryFolder('data'), 'file')
  writeFileSync(file, '')
  const lines = await refusal({ dataDir: join(file, 'data') })
  assert.equal(lines.length, 1)
  assert.match(lines[0] ?? '', /^gatehouse: the data folder .* can't be written \(DATA_DIR\)/)
})

test('a data folder that cannot be created ends the start with one clear line', async () => {
  const lines = await refusal({ dataDir: '/proc/x/data' })
  assert.equal(lines.length, 1)
  assert.match(lines[0] ?? '', /^gatehouse: the data folder \/proc\/x\/data can't be written \(DATA_DIR\): ENOENT/)
})

test('wrong settings end the start with one line each, all at once', async () => {
  const lines = await refusal({ env: { PORT: 'eighty', SERVICES: 'everything' } })
  assert.deepEqual(lines.map((line) => line.split(':')[1]?.trim()).sort(), ['PORT', 'SERVICES'])
})

test('faults of the file and the environment are reported together, with lines of the file', async () => {
  const lines = await refusal({ env: { ...config('tiers:\n  free: { rpm: lots }\nclient: []\n'), LOG_LEVEL: 'loud' } })
  assert.equal(lines.length, 3)
  assert.ok(lines.some((line) => /gatehouse\.yaml:2: tiers\.free\.rpm must be an integer/.test(line)))
  assert.ok(lines.some((line) => /gatehouse\.yaml:3: client is not known here; did you mean clients\?/.test(line)))
})

test('an unreachable database ends the start with one clear line without the password', async () => {
  const env = {
    DATABASE_URL: 'postgres://gatehouse:hunter2@127.0.0.1:9/none',
    ENCRYPTION_KEY: 'zX9-kq3vTn2_pWs7Lm4Rb8Yc1Dh6Fj5G',
    SMTP_URL: 'smtp://127.0.0.1:25',
  }
  const lines = await refusal({ env })
  assert.equal(lines.length, 1)
  assert.match(lines[0] ?? '', /DATABASE_URL/)
  assert.ok(!lines.join().includes('hunter2'))
})

test('production without a way to send email is refused, unless email is switched off', async () => {
  const env = {
    DATABASE_URL: 'postgres://gatehouse@127.0.0.1:9/none',
    ENCRYPTION_KEY: 'zX9-kq3vTn2_pWs7Lm4Rb8Yc1Dh6Fj5G',
  }
  assert.match((await refusal({ env })).join(), /SMTP_URL/)
  assert.doesNotMatch((await refusal({ env: { ...env, ...config('channels: { email: off }\n') } })).join(), /SMTP_URL/)
})

test('a provider of a sort that does not exist is named with the line and the sorts there are', async () => {
  const lines = await refusal({ env: config('providers:\n  email:\n    - { provider: pigeon }\n') })
  assert.match(lines.join(), /gatehouse\.yaml:3: providers\.email\.0\.provider must be one of smtp/)
})

test('a provider with a member that its sort does not have is named with the members it has', async () => {
  const lines = await refusal({
    env: config('providers:\n  email:\n    - { provider: smtp, url: "smtp://h", usr: x }\n'),
  })
  assert.match(
    lines.join(),
    /gatehouse\.yaml:3: providers\.email\.0\.usr is not known here; known are provider, name, url/,
  )
})

test('two providers of one name are refused', async () => {
  const entry = '    - { provider: smtp, url: "smtp://h" }\n'
  const lines = await refusal({ env: config(`providers:\n  email:\n${entry}${entry}`) })
  assert.match(lines.join(), /gatehouse\.yaml:4: providers\.email\.1 needs a `name` of its own: smtp is taken/)
})

test('the pages under /dev/ are there for this machine alone, not where others may come in', async () => {
  const program = await started({ env: { HOST: '0.0.0.0', SMTP_URL: 'smtp://127.0.0.1:9' } })
  const pages = await Promise.all(['/', '/dev/inbox', '/dev/mailbox'].map((path) => fetch(`${program.url}${path}`)))
  await program.stop()
  assert.deepEqual(
    pages.map(({ status }) => status),
    [404, 404, 404],
  )
  assert.doesNotMatch(program.stdout(), /(?:Mail|Inbox) +http/)
})
