// A report file shows the report in it. A page of `yuba ui` follows a run until it has one.
listen();
listenGraph();
if (document.body.dataset.live) followRun().catch(fail);
else unpack().then(draw).catch(fail);
