import { createHash } from 'node:crypto'
import type { MailContext } from '../../context/context.ts'
import type { BackgroundContext } from '../../context/features.ts'
import { safeFetch } from '../../http/safe-fetch.ts'
import { createMessage } from '../../mail/messages.ts'
import type { OutboxMessage } from '../../store/index.ts'
import { maxLogoPixels, readLogoType } from './image.ts'

/** The largest logo, in bytes. */
const maxLogoBytes = 64 * 1024

/** An address that fails is tried again this long. */
const fetchTtlMs = 3_600_000

/** Creates the message that has a client's logo fetched; to be stored with the client. */
export function createLogoMessage(
  context: Pick<MailContext, 'clock' | 'encryptionKey'>,
  clientId: string,
): OutboxMessage {
  return createMessage(context, { kind: 'logo', subject: clientId, payload: {}, ttlMs: fetchTtlMs })
}

/**
 * Fetches the logo of a client and stores it, unless that of its address is stored already. Content that is no logo is
 * refused for good, since fetching it again would not change it; until then the consent page has none.
 * @throws Error when the address does not answer with 200; to be tried again
 */
export async function fetchLogo(
  context: Pick<BackgroundContext, 'store' | 'clock' | 'log' | 'features'>,
  clientId: string,
): Promise<void> {
  const { store, clock, log, features } = context
  const uri = (await store.clients.find(clientId))?.logoUri
  if (uri === undefined || (await store.clientLogos.findHash(clientId, uri)) !== undefined) return
  const { status, bytes } = await safeFetch(uri, {
    headers: { accept: 'image/webp, image/png, image/jpeg' },
    maxBytes: maxLogoBytes,
    loopback: features.loopbackCalls,
  })
  if (status !== 200) throw new Error(`the client's logo_uri returned ${status}, 200 was expected`)
  const mediaType = readLogoType(bytes)
  if (mediaType === undefined) {
    const expected = `PNG, JPEG or WebP of at most ${maxLogoPixels} × ${maxLogoPixels} pixels`
    log.warn({ client: clientId, uri }, `the logo of a client was refused: ${expected} is expected`)
    return
  }
  const hash = createHash('sha256').update(bytes).digest('base64url')
  await store.clientLogos.put(clientId, uri, { hash, mediaType, content: bytes }, clock.now())
}
