// grpc-java against a running server: serval.Client [--ca FILE [--cert FILE --key FILE]] HOST:PORT.
// Prints a JSON line for each case, {"test", "outcome": "passed" | "failed", "detail"}. The server
// has the models that test/clients/support.ts gives it. Test time only.
package serval;

import com.google.gson.JsonObject;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContextBuilder;
import java.io.File;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

public final class Client {
  private Client() {}

  private static NettyChannelBuilder builder(String target, Map<String, String> options)
      throws Exception {
    NettyChannelBuilder builder = NettyChannelBuilder.forTarget(target);
    if (!options.containsKey("--ca")) {
      return builder.usePlaintext();
    }
    SslContextBuilder security =
        GrpcSslContexts.forClient().trustManager(new File(options.get("--ca")));
    if (options.containsKey("--cert")) {
      security.keyManager(new File(options.get("--cert")), new File(options.get("--key")));
    }
    return builder.sslContext(security.build());
  }

  private static void run(ManagedChannel channel) {
    for (Map.Entry<String, Cases.Case> one : Cases.all().entrySet()) {
      JsonObject line = new JsonObject();
      line.addProperty("test", one.getKey());
      try {
        one.getValue().run(channel);
        line.addProperty("outcome", "passed");
        line.addProperty("detail", "");
      } catch (Exception | AssertionError error) {
        line.addProperty("outcome", "failed");
        line.addProperty("detail", error.toString());
      }
      System.out.println(line);
    }
  }

  public static void main(String[] args) throws Exception {
    Map<String, String> options = new HashMap<>();
    for (int i = 0; i + 1 < args.length; i += 2) {
      options.put(args[i], args[i + 1]);
    }
    if (args.length % 2 == 0) {
      System.err.println("usage: serval.Client [--ca FILE [--cert FILE --key FILE]] HOST:PORT");
      System.exit(2);
    }
    ManagedChannel channel =
        builder(args[args.length - 1], options).maxInboundMessageSize(16 << 20).build();
    try {
      run(channel);
    } finally {
      channel.shutdownNow().awaitTermination(10, TimeUnit.SECONDS);
    }
  }
}
