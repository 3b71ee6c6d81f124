import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { StartError, silentLog } from '@gatehouse/kit'
import { temporaryFolder } from '@gatehouse/testing'
import { compose } from '../../src/compose/compose.ts'
import { readConfig } from '../../src/config/config.ts'
import { migratedDataDir } from '../support/data-dir.ts'

test('a start that fails once the first run has made secrets shows them all the same', async (t) => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const address = server.address()
  const port = address && typeof address === 'object' ? address.port : assert.fail('no port')
  const path = join(temporaryFolder('config'), 'gatehouse.yaml')
  writeFileSync(path, 'users: [{ id: ann }]\n')
  const config = await readConfig({
    GATEHOUSE_CONFIG: path,
    DATA_DIR: await migratedDataDir(),
    METRICS_PORT: String(port),
  })
  const printed: string[] = []
  const write = process.stdout.write.bind(process.stdout)
  // What is no text is a report of the test runner.
  const { mock } = t.mock.method(process.stdout, 'write', (chunk: string | Uint8Array) =>
    typeof chunk === 'string' ? printed.push(chunk) > 0 : write(chunk),
  )
  const failed = await compose({ config, version: '0', log: silentLog }).then(
    () => assert.fail('it starts'),
    (error: unknown) => error,
  )
  mock.restore()
  assert.ok(failed instanceof StartError && failed.message.includes('METRICS_PORT'), String(failed))
  assert.match(printed.join(''), /shown once, keep them:\n +user +ann +password \S+/)
})
