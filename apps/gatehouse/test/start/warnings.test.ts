import assert from 'node:assert/strict'
import { test } from 'node:test'
import { started } from '../support/program.ts'

test('a start that admits nobody says so in its log', async () => {
  const env = { SERVICES: 'gateway', DEV_PAGES: 'never' }
  const program = await started({ env })
  assert.match(program.stdout(), /"level":"warn".*no caller is admitted/)
  assert.equal((await program.stop()).code, 0)
})
