import { once } from 'node:events'
import { createServer, type Server } from 'node:http'

/** Node's own HTTP server that parses each body, keeps nothing and answers as the service would: what no service beats. */
export async function bareHttp(): Promise<Server> {
  const answer = JSON.stringify({
    id: '019c0000-0000-7000-8000-000000000000',
    deliveries: [{ id: '019c0000-0000-7000-8000-000000000001', channel: 'email', outcome: 'queued' }],
  })
  const headers = { 'content-type': 'application/json', 'content-length': String(answer.length) }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    JSON.parse(text)
    response.writeHead(202, headers).end(answer)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}
