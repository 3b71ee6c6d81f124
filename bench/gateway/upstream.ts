/** The service behind both gateways. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { report } from './protocol.ts'

const body = JSON.stringify({
  id: 7,
  status: 'shipped',
  lines: Array.from({ length: 5 }, (_, n) => ({ n, sku: 'abc' })),
})
const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
  response.end(body)
})
server.listen(0, '127.0.0.1', () => report(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
