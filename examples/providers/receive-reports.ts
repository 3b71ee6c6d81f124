import { createServer, type Server } from 'node:http'
import type { Provider, Report } from '@gatehouse/providers'

const statuses = { reports: 204, rejected: 403, malformed: 400, unchecked: 503 } as const

/** A server for the reports of a provider, which calls it at `publicUrl`. */
export function reportServer(provider: Provider, publicUrl: string, onReport: (report: Report) => void): Server {
  return createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray())
    const { headers } = request
    const read = await provider.reports?.read({ headers, body, url: `${publicUrl}${request.url}` }, Date.now())
    if (read?.kind === 'reports') read.reports.forEach(onReport)
    response.writeHead(read ? statuses[read.kind] : 404).end()
  })
}
