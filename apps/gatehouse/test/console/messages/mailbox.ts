/** The texts of what was sent, the newest first. */
export async function readMailbox(url: string): Promise<string[]> {
  const answer = await fetch(`${url}/dev/mailbox`, { headers: { accept: 'application/json' } })
  const { messages } = (await answer.json()) as { messages: { body?: string; content?: { body: string } }[] }
  return messages.map((message) => message.body ?? message.content?.body ?? '')
}
