import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { launch, started } from '../support/program.ts'

test('SIGHUP reloads tiers and policies without a reset; an invalid file changes nothing', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'reload-'))
  context.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'gatehouse.yaml')
  writeFileSync(file, 'policies: { anonymous: { daily: 5 } }\n')
  const program = await started({ env: { GATEHOUSE_CONFIG: file, LOG_LEVEL: 'info' } })
  const ask = async () => {
    const { headers } = await fetch(`${program.url}/nowhere`)
    return [headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]
  }
  assert.deepEqual(await ask(), ['5', '4'])
  writeFileSync(file, 'policies: { anonymous: { daily: 3 } }\n')
  program.process.kill('SIGHUP')
  await program.printed('tiers and policies are those of the file now')
  assert.deepEqual(await ask(), ['3', '1'])
  writeFileSync(file, 'policies: { anonymous: { daily: none } }\n')
  program.process.kill('SIGHUP')
  await program.printed('tiers and policies stay as they were')
  assert.deepEqual(await ask(), ['3', '0'])
  assert.equal((await program.stop()).code, 0)
})

test('SIGHUP names the sections of the file that were edited and take a restart', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'reload-'))
  context.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'gatehouse.yaml')
  const limits = 'policies: { anonymous: { daily: 5 } }\n'
  writeFileSync(file, limits)
  const program = await started({ env: { GATEHOUSE_CONFIG: file } })
  const events = 'event_types: [{ event: order.shipped, channels: [email] }]\n'
  writeFileSync(file, `${limits}${events}cors_origins: ["https://app.example.com"]\n`)
  program.process.kill('SIGHUP')
  await program.printed('a restart applies what else was edited in the file: cors_origins, event_types')
  assert.equal((await program.stop()).code, 0)
})

test('SIGHUP during the start ends nothing, and what the file says by then applies', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'reload-'))
  context.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'gatehouse.yaml')
  writeFileSync(file, 'policies: { anonymous: { daily: 5 } }\n')
  const program = await launch({ env: { GATEHOUSE_CONFIG: file, LOG_LEVEL: 'info' } })
  await program.printed('this process works in its share of the buckets')
  writeFileSync(file, 'policies: { anonymous: { daily: 3 } }\n')
  program.process.kill('SIGHUP')
  await program.printed('tiers and policies are those of the file now')
  const { headers } = await fetch(`${program.url}/nowhere`)
  assert.equal(headers.get('x-ratelimit-limit'), '3')
  assert.equal((await program.stop()).code, 0)
})

test('a start without a file, as in another folder, leaves the stored limits of the file', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'reload-'))
  context.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'declared.yaml')
  writeFileSync(file, 'policies: { anonymous: { daily: 5 } }\n')
  const first = await started({ env: { GATEHOUSE_CONFIG: file } })
  assert.equal((await first.stop()).code, 0)
  const program = await started({ dataDir: first.dataDir, cwd: folder, env: { LOG_LEVEL: 'info' } })
  const limit = async () => (await fetch(`${program.url}/nowhere`)).headers.get('x-ratelimit-limit')
  assert.equal(await limit(), '5')
  program.process.kill('SIGHUP')
  await program.printed('tiers and policies are those that identity stores')
  assert.equal(await limit(), '5')
  assert.equal((await program.stop()).code, 0)
})

test('a SIGHUP that finds the file of the start gone changes nothing', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'reload-'))
  context.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'gatehouse.yaml')
  writeFileSync(file, 'policies: { anonymous: { daily: 5 } }\n')
  const program = await started({ cwd: folder, env: { LOG_LEVEL: 'info' } })
  rmSync(file)
  program.process.kill('SIGHUP')
  await program.printed('tiers and policies stay as they were')
  assert.match(program.stdout(), /gatehouse\.yaml, which can't be read/)
  const { headers } = await fetch(`${program.url}/nowhere`)
  assert.equal(headers.get('x-ratelimit-limit'), '5')
  assert.equal((await program.stop()).code, 0)
})
