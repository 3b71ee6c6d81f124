import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { Person } from '../../../../console/test/support/person.ts'
import { consoleOfSuite } from '../../support/console.ts'
import { callAsDemo } from '../../support/demo-client.ts'
import { started } from '../../support/program.ts'
import { loaded } from '../page.ts'

describe('users in the console', () => {
  const { tab, program, faults, heading, faultless } = consoleOfSuite({
    start: () => started(),
    first: ['/users', 'Users'],
  })
  const dialog = (name: string) => tab().getByRole('dialog', { name })
  const call = (method: string, path: string, body: object) =>
    callAsDemo(program(), 'admin:users admin:notifications', { method, path, body })

  testWith('chromium', 'a user is created with a password that is shown once, and found by filters', async () => {
    await tab().getByRole('button', { name: 'New user' }).click()
    await dialog('New user').getByLabel('Id').fill('vera-9')
    await dialog('New user').getByLabel('Email').fill('vera@people.example')
    await faultless('a new user')
    await dialog('New user').getByRole('button', { name: 'New user' }).click()
    await tab().getByText('It is shown only now.').waitFor()
    await tab().getByRole('button', { name: 'Open the user' }).click()
    await heading('vera-9')
    await tab().getByText('not verified').waitFor()
    await tab().goto(`${program().url}/console/users`)
    await tab().getByLabel('Address').selectOption('false')
    await tab().getByRole('button', { name: 'Search', exact: true }).last().click()
    await tab().getByRole('link', { name: 'vera-9', exact: true }).waitFor()
    assert.match(tab().url(), /verified=/)
    await tab().getByRole('link', { name: 'alice', exact: true }).waitFor({ state: 'detached' })
  })

  testWith('chromium', 'who edits a user after somebody else sees their change, and decides', async () => {
    await tab().goto(`${program().url}/console/users/vera-9`)
    await heading('vera-9')
    await tab().getByRole('button', { name: 'Edit' }).click()
    await dialog('Edit').getByLabel('Full name').fill('Vera Example')
    await faultless('the form of a user')
    await call('PATCH', '/admin/v1/users/vera-9', { plan: 'pro' })
    await dialog('Edit').getByRole('button', { name: 'Save' }).click()
    await tab().getByText('Somebody changed this user meanwhile').waitFor()
    await tab().getByText('plan: free → pro').waitFor()
    await dialog('Edit').getByLabel('Plan').fill('pro')
    await dialog('Edit').getByRole('button', { name: 'Save mine anyway' }).click()
    await tab().getByText('The user was changed.').waitFor()
    await tab().getByText('"name": "Vera Example"').waitFor()
    await tab().getByText('pro', { exact: true }).waitFor()
  })

  testWith(
    'chromium',
    'sessions that a filter selects end after their number is typed, but not the own one',
    async () => {
      await call('PUT', '/admin/v1/users/vera-9/password', { password: 'vera has a long password' })
      await new Person(program().url).signIn('vera-9', 'vera has a long password')
      await tab().goto(`${program().url}/console/sessions?address=127.0.0.1`)
      await heading('Sessions')
      await tab().getByRole('cell', { name: 'vera-9', exact: true }).waitFor()
      await tab().getByRole('row').filter({ hasText: 'alice' }).getByText('you', { exact: true }).waitFor()
      await tab().getByRole('button', { name: 'End these sessions' }).click()
      const confirm = dialog('End these sessions')
      await confirm.getByText('The filters select 1 sessions beside your own.').waitFor()
      assert.ok(await confirm.getByRole('button', { name: 'End these sessions' }).isDisabled())
      await confirm.getByLabel('Type 1 to confirm.').fill('1')
      await confirm.getByRole('button', { name: 'End these sessions' }).click()
      await tab().getByRole('cell', { name: 'vera-9', exact: true }).waitFor({ state: 'detached' })
      await tab().getByRole('cell', { name: 'alice', exact: true }).waitFor()
    },
  )

  testWith('chromium', 'users are exported as lines', async () => {
    await tab().goto(`${program().url}/console/users?plan=pro`)
    await heading('Users')
    await tab().getByRole('button', { name: 'Export' }).click()
    const download = tab().waitForEvent('download')
    await dialog('Export').getByRole('button', { name: 'Export' }).click()
    const file = await readFile(await (await download).path(), 'utf8')
    const ids = file.trimEnd().split('\n')
    assert.ok(ids.map((line) => (JSON.parse(line) as { id: string }).id).includes('vera-9'), file)
  })

  testWith('chromium', 'a user whom only the notification service knows is explained', async () => {
    await call('PUT', '/v1/recipients/guest-1', { email: 'guest@people.example' })
    await tab().goto(`${program().url}/console/users/guest-1`)
    await heading('guest-1')
    await tab().getByText('Identity has no account with this id').waitFor()
    await tab().getByText('guest@people.example').waitFor()
    await loaded(tab())
    assert.equal(await tab().getByRole('tab', { name: 'Sessions and grants' }).count(), 0)
    assert.deepEqual(faults(), [])
  })
})
