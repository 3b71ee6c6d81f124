/** An event of a random user, its own key in its run. */
export function eventOf(run: string, n: number, users: number) {
  const at = Date.now()
  const data = { order_id: `A-${n}`, item: 'a red bicycle', tracking_url: `https://shop.example/track/${at}`, at }
  return {
    event: 'order.shipped',
    user_id: `user-${Math.floor(Math.random() * users)}`,
    data,
    dedup_key: `${run}-${n}`,
  }
}
