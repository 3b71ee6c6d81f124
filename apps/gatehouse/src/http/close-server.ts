import type { Http } from '@gatehouse/kit'

/** How long requests under way may take to finish: what else is held needs the rest of the ten seconds of a stop. */
const patienceMs = 4_000

/**
 * Closes the server once the requests under way are done. One that is not done in time is cut off: whoever sends half a
 * request would else keep the program from the rest of an orderly stop.
 */
export async function closeServer(http: Http): Promise<void> {
  const patience = setTimeout(() => http.server.closeAllConnections(), patienceMs)
  try {
    await http.close()
  } finally {
    clearTimeout(patience)
  }
}
