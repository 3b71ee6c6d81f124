import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHttp, silentLog } from '@gatehouse/kit'
import { separateOrigins } from '../../src/server/index.ts'

const [atApi, atConsole] = ['api.example.com', 'console.example.com']

function served() {
  const http = createHttp({ log: silentLog })
  separateOrigins(http, `https://${atConsole}`)
  for (const url of ['/console/api/session', '/page', '/consoles/page', '/healthz']) http.get(url, async () => ({}))
  return async (host: string, url: string) => (await http.inject({ method: 'GET', url, headers: { host } })).statusCode
}

test('the console is at its own origin alone, however its path is written', async () => {
  const ask = served()
  for (const path of ['/console/api/session', '/%63onsole/api/session', '/%63%6F%6e%73ole/%61pi/session?a=1']) {
    assert.equal(await ask(atApi, path), 404, path)
    assert.equal(await ask(atConsole, path), 200, path)
  }
})

test('nothing but the console is at its origin', async () => {
  const ask = served()
  for (const path of ['/page', '/%70age', '/consoles/page', '/%', '/console%2f..%2fpage']) {
    assert.ok([400, 404].includes(await ask(atConsole, path)), path)
  }
  for (const path of ['/page', '/consoles/page']) assert.equal(await ask(atApi, path), 200, path)
  for (const host of [atApi, atConsole]) assert.equal(await ask(host, '/healthz'), 200)
})
