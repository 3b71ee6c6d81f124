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
 * Serves metrics without a credential at METRICS_HOST and METRICS_PORT, and nothing else. Resolves with what closes it.
 * @throws StartError when the port can't be had
 */
export async function listenForMetrics(options: MetricsListenerOptions): Promise<() => Promise<void>> {
  const { settings, log, contentType, text } = options
  const http = createHttp({ log })
  http.get('/metrics', async (_request, reply) => reply.type(contentType).send(await text()))
  await listen(http, settings.metricsHost, settings.metricsPort ?? 0, 'METRICS_HOST, METRICS_PORT')
  return () => http.close()
}
