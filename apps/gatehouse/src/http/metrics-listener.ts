import { createHttp, type Log } from '@gatehouse/kit'
import type { Settings } from '../config/config.ts'
import { listen } from './listen.ts'

/** What {@link listenForMetrics} serves. */
export interface MetricsListenerOptions {
  readonly settings: Pick<Settings, 'metricsHost' | 'metricsPort'>
  readonly log: Log
  readonly contentType: string
  readonly text: () => Promise<string>
}

/**
 * Serves metrics without a credential at METRICS_HOST and METRICS_PORT, and nothing else. Resolves with what closes it,
 * which cuts off the requests under way: a scrape that is lost to a stop is none that matters.
 * @throws StartError when the port can't be had
 */
export async function listenForMetrics(options: MetricsListenerOptions): Promise<() => Promise<void>> {
  const { settings, log, contentType, text } = options
  const http = createHttp({ log })
  http.get('/metrics', async (_request, reply) => reply.type(contentType).send(await text()))
  // Whoever sends half a request would else keep the program from the rest of an orderly stop. From a hook, because no
  // connection can come between it and the end of listening; it must not return a value: Fastify takes one for an error.
  http.addHook('preClose', async () => {
    http.server.closeAllConnections()
  })
  await listen(http, settings.metricsHost, settings.metricsPort ?? 0, 'METRICS_HOST, METRICS_PORT')
  return () => http.close()
}
